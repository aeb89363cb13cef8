import { AccountService, repeatable, SessionService, SignalService } from "@authwire/proto"
import { create, type DescMethod, getOption, type Message, toBinary } from "@bufbuild/protobuf"
import { MethodOptions_IdempotencyLevel as Level } from "@bufbuild/protobuf/wkt"
import { describe, expect, test } from "@jest/globals"
import { ownMethods, scopeOf } from "../../auth/scopes.js"
import type { RepeatableRequest } from "../../store/types.js"
import { ActiveCalls } from "../active-calls.js"
import { idempotency } from "./idempotency.js"

describe("the schema", () => {
  test("accepts idempotency keys for exactly the methods that write", () => {
    // Both can be repeated without a key: storing the response of the one would add a write to every call, and the token of the
    // other has an id, which is its key.
    const without: DescMethod[] = [SessionService.method.accessSession, SignalService.method.receiveSignal]
    const writes = ownMethods.filter(
      (method) =>
        /:(write|disable|revoke-all)$/.test(scopeOf(method) ?? "") &&
        method.idempotency !== Level.NO_SIDE_EFFECTS &&
        !without.includes(method),
    )
    const names = (methods: typeof writes) => methods.map(({ parent, name }) => `${parent.name}.${name}`)
    expect(writes.length).toBeGreaterThan(11)
    expect(names(ownMethods.filter((method) => getOption(method, repeatable)))).toEqual(names(writes))
  })
})

describe("a request", () => {
  const { linkAccount } = AccountService.method
  const active = new ActiveCalls(1_000)

  /** Returns the arguments that the store gets for a request with an idempotency key. */
  async function asked(request: Message): Promise<RepeatableRequest> {
    let given: RepeatableRequest | undefined
    const { unary } = idempotency({
      async once(_caller, repeatable) {
        given = repeatable
        return toBinary(linkAccount.output, create(linkAccount.output))
      },
    })
    const header = (name: string) => (name === "idempotency-key" ? "a-key-of-the-test" : undefined)
    const call = active.begin(linkAccount, { transport: "grpc", timeoutMs: undefined, header })
    await unary?.(linkAccount, async () => create(linkAccount.output))(request, call)
    call.end()
    if (given === undefined) throw new Error("the store was not asked")
    return given
  }
  const digestOf = async (extra: object, more: object = {}) => {
    const request = create(linkAccount.input, { userId: "u", provider: "p", extra: extra as never, ...more })
    return (await asked(request)).digest()
  }

  test("has the same digest in any order of its properties", async () => {
    const one = await digestOf({ a: 1, b: { c: [1, 2], d: null } })
    expect(await digestOf({ b: { d: null, c: [1, 2] }, a: 1 })).toBe(one)
    expect(one).toMatch(/^[\w-]{43}$/)
  })

  test.each<[string, object, object]>([
    ["a value", { a: 2 }, {}],
    ["the type of a value", { a: "1" }, {}],
    ["a name", { b: 1 }, {}],
    ["a null in place of nothing", { a: 1, b: null }, {}],
    ["the depth", { b: { a: 1 } }, {}],
    ["the order of a list", { a: 1 }, { authorizationDetails: { items: [{ a: 2 }, { a: 1 }] } }],
    ["a field", { a: 1 }, { userId: "v" }],
    ["an empty field in place of none", { a: 1 }, { scope: "" }],
  ])("has another digest if it differs in %s", async (_, extra, more) => {
    const details = { authorizationDetails: { items: [{ a: 1 }, { a: 2 }] } }
    expect(await digestOf(extra, more)).not.toBe(
      await digestOf({ a: 1 }, "authorizationDetails" in more ? details : {}),
    )
  })
})
