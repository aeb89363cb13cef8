import { createServer, request as send } from "node:http"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { expect, test } from "@jest/globals"
import { type RequestContextOptions, requestContext, withRequestContext } from "./request-context.js"

const web = (headers: Record<string, string>) => new Request("http://127.0.0.1/", { headers })

test.each<[string, string | undefined, number | undefined, string | undefined]>([
  ["is not read by default", "6.6.6.6", undefined, undefined],
  ["of one proxy: the last entry, regardless of the client's entries", "6.6.6.6, 10.0.0.1", 1, "10.0.0.1"],
  ["of two: the second to last", "6.6.6.6,203.0.113.7 , 10.0.0.1", 2, "203.0.113.7"],
  ["with fewer entries than proxies is ignored", "10.0.0.1", 2, undefined],
  ["absent", undefined, 1, undefined],
  ["with an empty entry", "10.0.0.1, ", 1, undefined],
])("x-forwarded-for %s", (_, header, trustedProxies, ip) => {
  const request = web(header === undefined ? {} : { "x-forwarded-for": header })
  expect(withRequestContext(request, requestContext, { trustedProxies })).toMatchObject({ ip })
})

test("everything that a request starts has its context, and other code has none", async () => {
  const later = async () => {
    await Promise.resolve()
    return requestContext()
  }
  const options: RequestContextOptions = { provider: "github", ip: "::1" }
  const found = withRequestContext(web({ "user-agent": "UA" }), later, options)
  expect(requestContext()).toBeUndefined()
  expect(await found).toEqual({ ip: "::1", userAgent: "UA", provider: "github" })
})

test.each([
  ["https://shop.example/api/auth/callback/github?code=x", "github"],
  ["https://shop.example/api/auth/callback/azure-ad", "azure-ad"],
  ["https://shop.example/?next=/callback/github/x", undefined],
  ["https://shop.example/api/auth/signin/github", undefined],
])("%s is the callback of the provider %p", (url, provider) => {
  expect(withRequestContext(new Request(url), requestContext)?.provider).toBe(provider)
})

test("a request of Node has the address of its connection", async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>()
  const server = createServer((request, response) => {
    resolve(withRequestContext(request, requestContext))
    response.end()
  })
  const port = await listen(server)
  const headers = { "user-agent": "UA", "x-forwarded-for": "6.6.6.6" }
  send({ port, host: "127.0.0.1", headers }, (response) => response.resume()).end()
  expect(await promise).toEqual({ ip: "127.0.0.1", userAgent: "UA" })
  await new Promise((closed) => server.close(closed))
})

test.each([-1, 1.5, Number.NaN])("trustedProxies: %d is rejected", (trustedProxies) => {
  expect(() => withRequestContext(web({}), requestContext, { trustedProxies })).toThrow(TypeError)
})
