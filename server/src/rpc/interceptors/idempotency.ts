import { hash } from "node:crypto"
import { repeatable } from "@authwire/proto"
import { type DescMethod, fromBinary, getOption, type Message } from "@bufbuild/protobuf"
import { invalidField } from "../../errors/failure.js"
import type { Store } from "../../store/store.js"
import { callerOf } from "../call.js"
import { bytesOf } from "../encoded-structs.js"
import type { Interceptor } from "../interceptor.js"

/** The header with the idempotency key of a call. */
export const idempotencyHeader = "idempotency-key"

const rule = /^[\x21-\x7e]{16,255}$/

/**
 * Returns the stored response of an earlier call to a call with the same idempotency key, if the method accepts such
 * keys (schema option `repeatable`). Each API key has its own idempotency keys.
 */
export function idempotency(store: Pick<Store, "once">): Interceptor {
  return {
    admit(method) {
      if (!getOption(method, repeatable)) return undefined
      return (call) => {
        const key = call.header(idempotencyHeader)
        if (key === undefined || rule.test(key)) return undefined
        throw invalidField(idempotencyHeader, "must be 16 to 255 visible ASCII characters, without spaces")
      }
    },

    unary(method, next) {
      if (!getOption(method, repeatable)) return next
      return async (request, call, transaction) => {
        const key = call.header(idempotencyHeader)
        if (key === undefined) return next(request, call, transaction)
        const repeatableRequest = { owner: call.identity?.keyId ?? "", key, digest: () => digestOf(method, request) }
        let made: { answer: Message; bytes: Uint8Array } | undefined
        const bytes = await store.once(callerOf(call), repeatableRequest, async (inTransaction) => {
          const answer = await next(request, call, inTransaction)
          made = { answer, bytes: bytesOf(method.output, answer) }
          return made.bytes
        })
        return bytes === made?.bytes ? made.answer : fromBinary(method.output, bytes)
      }
    },
  }
}

/** Returns a digest that does not depend on the order of properties, which some languages change each time. */
function digestOf({ parent, name }: DescMethod, request: Message): string {
  return hash("sha256", JSON.stringify([parent.typeName, name, request], inOrder), "base64url")
}

function inOrder(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value)
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
}
