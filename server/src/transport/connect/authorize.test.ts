import { Code, ConnectError } from "@connectrpc/connect"
import { expect, test } from "@jest/globals"
import { Failure } from "../../errors/failure.js"
import { failedAnswer, proxyHeader, readAuthorizeRequest } from "./authorize.js"

test("of the headers of a request, only the key and the id of the proxy become headers of the call", () => {
  const headers = {
    "x-api-key": "awk_of_the_proxy",
    "x-request-id": ["one", "two"],
    authorization: "Bearer of-the-client",
    "idempotency-key": "of the client",
    traceparent: "of the client",
    tracestate: "of the client",
    "grpc-timeout": "1n",
  }
  const found = Object.keys(headers).map((name) => [name, proxyHeader(headers, name)])
  expect(found.filter(([, value]) => value !== undefined)).toEqual([
    ["x-request-id", "one"],
    ["authorization", "Bearer awk_of_the_proxy"],
  ])
  // Without a key of the proxy, that of its client is not used.
  expect(proxyHeader({ authorization: headers.authorization }, "authorization")).toBeUndefined()
})

test("the request to decide on has neither the key of the proxy nor the fields of HTTP/2", () => {
  const headers = { ":path": "/", "x-api-key": "awk_of_the_proxy", cookie: ["a=1", "b=2"], accept: ["x", "y"] }
  const asked = readAuthorizeRequest("/v1/authorize?policy=optional", headers)
  if (asked instanceof Failure) throw asked
  const { contextExtensions, request } = asked.request.attributes ?? {}
  expect(contextExtensions).toEqual({ policy: "optional" })
  expect(request?.http?.headers).toEqual({ cookie: "a=1; b=2", accept: "x, y" })
})

test("an error never sends users to the sign-in page", () => {
  const codes = Object.values(Code).filter((code) => typeof code === "number")
  for (const code of codes) expect([500, 503]).toContain(failedAnswer(new ConnectError("no", code)).status)
  expect(failedAnswer(new Error("a secret"))).toMatchObject({
    status: 500,
    body: expect.not.stringContaining("secret"),
  })
  expect(failedAnswer(new ConnectError("later", Code.Unavailable)).status).toBe(503)
})
