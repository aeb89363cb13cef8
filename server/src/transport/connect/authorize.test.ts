import { Code } from "@connectrpc/connect"
import { expect, test } from "@jest/globals"
import { Failure, toFailure } from "../../errors/failure.js"
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

const target = {
  "x-original-method": "POST",
  "x-original-uri": "/by-original",
  "x-original-host": "original.example",
  "x-forwarded-method": "PUT",
  "x-forwarded-uri": "/by-forwarded",
  "x-forwarded-host": "forwarded.example",
  "x-forwarded-proto": "https",
}
const original = { method: "POST", path: "/by-original", host: "original.example", scheme: "https" }
const forwarded = { method: "PUT", path: "/by-forwarded", host: "forwarded.example", scheme: "https" }

test.each([
  ["?proxy=nginx", original, true],
  ["?proxy=traefik", forwarded, false],
  ["?proxy=caddy", forwarded, false],
  ["", { method: "GET", path: "", host: "", scheme: "https" }, false],
])("with %s only the headers of that kind of proxy describe the request", (query, http, redirectsByHeader) => {
  const asked = readAuthorizeRequest(`/v1/authorize${query}`, target)
  expect(asked).toMatchObject({ redirectsByHeader, request: { attributes: { request: { http } } } })
  // What the proxy has not sent is never taken from headers of its client.
  const others = Object.entries(target).filter(([name]) => !name.startsWith(http === original ? "x-o" : "x-f"))
  const without = readAuthorizeRequest(`/v1/authorize${query}`, Object.fromEntries(others))
  expect(without).toMatchObject({ request: { attributes: { request: { http: { path: "", host: "" } } } } })
})

test("settings that are unknown, repeated, or miss the kind of the proxy are kept or rejected, and never ignored", () => {
  const settings = (query: string) => {
    const asked = readAuthorizeRequest(`/v1/authorize?${query}`, {})
    return asked instanceof Failure ? asked.message : Object.entries(asked.request.attributes?.contextExtensions ?? {})
  }
  for (const name of ["__proto__", "constructor", "toString", "roles"]) {
    expect(settings(`${name}=x&proxy=caddy`)).toEqual([[name, "x"]])
    expect(settings(`${name}=x&${name}=x`)).toContain("contains a setting twice")
    expect(settings(`${name}=%ff`)).toContain("must be encoded in UTF-8")
  }
  for (const proxy of ["", "Nginx", "__proto__"]) expect(settings(`proxy=${proxy}`)).toContain("proxy must be one of")
  for (const name of ["sign_in", "preflight"]) {
    expect(settings(`${name}=x`)).toContain(`${name} needs proxy, which must be one of nginx, traefik, caddy`)
  }
})

test("an error never sends users to the sign-in page", () => {
  const codes = Object.values(Code).filter((code) => typeof code === "number")
  for (const code of codes) expect([500, 503]).toContain(failedAnswer(new Failure("INTERNAL", { code }), "").status)
  expect(failedAnswer(toFailure(new Error("a secret")), "")).toMatchObject({
    status: 500,
    body: expect.not.stringContaining("secret"),
  })
  expect(failedAnswer(new Failure("SHUTTING_DOWN"), "").status).toBe(503)
})
