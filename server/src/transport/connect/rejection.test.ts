import { UserService } from "@authwire/proto"
import { Health } from "@authwire/proto/health"
import type { DescMethod } from "@bufbuild/protobuf"
import { type ConnectRouter, createConnectRouter, type MethodImpl, type ServiceImpl } from "@connectrpc/connect"
import { expect, test } from "@jest/globals"
import { Failure } from "../../errors/failure.js"
import { connectErrorOf } from "../../errors/status.js"
import { acceptedEncoding, typesOverHttp } from "../listener/content-type.js"
import { withoutForeignErrors } from "./foreign-errors.js"
import { rejectionOf } from "./rejection.js"

const failures = [
  new Failure("API_KEY_MISSING"),
  new Failure("RATE_LIMITED", { retryAfterMs: 10 }),
  new Failure("SCOPE_MISSING", { metadata: { scope: "users:read" } }),
  new Failure("INVALID_FIELD", { violations: [{ field: "id", description: "50 %, must be: shorter" }] }),
]

/** Returns what the handlers of Connect answer to a call that fails with an error. */
async function byConnect(method: DescMethod, type: string, error: Error) {
  const router: ConnectRouter = createConnectRouter()
  const fail = () => {
    throw error
  }
  const implementation: Record<string, MethodImpl<DescMethod>> = { [method.localName]: fail as MethodImpl<DescMethod> }
  router.service(method.parent, implementation as Partial<ServiceImpl<typeof method.parent>>)
  const handler = router.handlers.find((one) => one.method === method)
  if (handler === undefined) throw new Error(`Connect has no ${method.name}`)
  const message = Buffer.from(type.endsWith("json") ? "{}" : "")
  const isPlain = /^application\/(json|proto)$/.test(type)
  async function* body(): AsyncIterable<Uint8Array> {
    yield isPlain ? message : Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message])
  }
  const answer = await handler({
    httpVersion: "2.0",
    method: "POST",
    url: `http://localhost${handler.requestPath}`,
    header: new Headers({ "content-type": type }),
    body: body(),
    signal: new AbortController().signal,
  } as Parameters<typeof handler>[0])
  const outcome = () => "failed" as const
  const own = withoutForeignErrors(answer, { requestId: "r", outcome }, () => {})
  own.header?.set(...acceptedEncoding(type))
  const parts: Uint8Array[] = []
  for await (const part of (own.body ?? []) as AsyncIterable<Uint8Array>) parts.push(part)
  return {
    status: own.status,
    headers: { ...Object.fromEntries(own.header ?? []), ...Object.fromEntries(own.trailer ?? []) },
    body: Buffer.concat(parts).toString("latin1"),
  }
}

const methods: readonly DescMethod[] = [UserService.method.getUser, Health.method.watch]

test.each(methods.flatMap((method) => typesOverHttp(method).map((type) => ({ method, name: method.name, type }))))(
  "a rejected call of $name has the answer of Connect's handler: $type",
  async ({ method, type }) => {
    for (const failure of failures) {
      const { body, ...others } = rejectionOf(type, failure, "r")
      const own = { ...others, body: Buffer.from(body).toString("latin1") }
      expect(own).toEqual(await byConnect(method, type, connectErrorOf(failure, "r")))
    }
  },
)
