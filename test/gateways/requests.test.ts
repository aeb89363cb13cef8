import type { AuthwireClient } from "@authwire/client"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import type { ServerProcess } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { check, toCheckRequest } from "./ask.js"
import { cookie, type GatewayService, signedIn, startGatewayService } from "./service.js"
import { visit } from "./visit.js"

// How requests are read, which each protocol does in its own way.
const target = serviceDatabase()

describe(`on ${target}`, () => {
  let service: GatewayService
  let server: ServerProcess
  let client: AuthwireClient
  let gateway: string
  beforeAll(async () => {
    service = await startGatewayService(target)
    ;({ server, client, gateway } = service)
  })
  afterAll(() => service?.close())

  test("names of headers and of the scheme Bearer in any case", async () => {
    const { sessionToken, told } = await signedIn(client)
    for (const headers of [{ Cookie: `a=1; ${cookie}=${sessionToken}` }, { AUTHORIZATION: `bearer ${sessionToken}` }]) {
      const request = toCheckRequest({ headers: { ...headers, "X-Auth-Anything": "forged" } })
      const { httpResponse } = await check(server, gateway, request)
      if (httpResponse.case !== "okResponse") throw new Error(httpResponse.case)
      expect(httpResponse.value.headers.map(({ header }) => header?.value)).toEqual(Object.values(told))
      expect(httpResponse.value.headersToRemove).toEqual(["x-authwire-identity", "x-auth-anything"])
    }
  })

  test("headers as bytes, as Envoy sends them with encode_raw_headers", async () => {
    const { sessionToken, told } = await signedIn(client)
    const lines: [string, string][] = [
      ["Cookie", "a=1"],
      ["cookie", `${cookie}=${sessionToken}`],
      ["X-Auth-Anything", "forged"],
    ]
    const headers = lines.map(([key, value]) => ({ key, rawValue: Buffer.from(value) }))
    const http = { method: "GET", headerMap: { headers } }
    const { httpResponse } = await check(server, gateway, { attributes: { request: { http } } })
    if (httpResponse.case !== "okResponse") throw new Error(httpResponse.case)
    expect(Object.fromEntries(httpResponse.value.headers.map(({ header }) => [header?.key, header?.value]))).toEqual(
      told,
    )
    expect(httpResponse.value.headersToRemove).toEqual(["x-authwire-identity", "x-auth-anything"])
  })

  test("headers that a client may have forged are removed, whether or not they are configured", async () => {
    const settings = { policy: "optional", headers: "x-auth-email=email" }
    const forged = { "x-auth-role": "admin", x_auth_user_id: "root", "x-auth-user-id": "root", "x-author": "stays" }
    const request = toCheckRequest({ settings, headers: forged })
    const { httpResponse } = await check(server, gateway, request)
    if (httpResponse.case !== "okResponse") throw new Error(httpResponse.case)
    expect(httpResponse.value.headers).toEqual([])
    const own = ["x-auth-session-id", "x-auth-user-id", "x-authwire-identity"]
    const removed = ["x-auth-email", "x-auth-role", ...own, "x_auth_user_id"]
    expect(httpResponse.value.headersToRemove.toSorted()).toEqual(removed)
  })

  test("an invalid HTTP request is an error", async () => {
    for (const request of [{}, { attributes: {} }, { attributes: { request: {} } }]) {
      await expect(check(server, gateway, request)).rejects.toThrow(
        /InvalidArgument.*attributes.request.http: is missing/,
      )
    }
  })

  test("GET /v1/authorize sends the sign-in page in a header for proxies that cannot redirect", async () => {
    const authorize = (query: string, headers: Record<string, string> = {}, method = "GET") => {
      const all = { "x-api-key": gateway, accept: "text/html", ...headers }
      return visit(server.httpUrl, { path: `/v1/authorize?${query}`, method, headers: Object.entries(all) })
    }
    const answer = await authorize("sign_in=/in&proxy=nginx", { "x-original-uri": "/a", "x-original-host": "b" })
    expect(answer.status).toBe(401)
    expect(answer.headers).not.toHaveProperty("location")
    expect(answer.headers).toMatchObject({ "x-auth-location": "/in", "www-authenticate": "Bearer" })
    for (const query of ["proxy=yes", "policy=optional&policy=required", "proxy=nginx&proxy=nginx"]) {
      expect([query, (await authorize(query)).status]).toEqual([query, 500])
    }
    const warned = (detail: string) =>
      server
        .log()
        .split("\n")
        .filter((line) => line.includes("an invalid setting") && line.includes(detail))
    for (const detail of ["proxy must be one of nginx", "contains a setting twice"]) {
      await until(() => warned(detail).length > 0)
      expect(warned(detail)).toHaveLength(1)
    }
    expect((await authorize("policy=optional", {}, "HEAD")).status).toBe(200)
    const rejected = await authorize("policy=optional", {}, "POST")
    expect([rejected.status, rejected.headers.allow]).toEqual([405, "GET, HEAD"])
    // Only the proxy's key counts. The request may have a key of its own.
    const { headers } = await signedIn(client)
    const own = await authorize("", { ...headers, authorization: `Bearer ${gateway}` })
    expect(own.status).toBe(200)
    const headersOfNone = [["authorization", `Bearer ${gateway}`] as const]
    const none = await visit(server.httpUrl, { path: "/v1/authorize", headers: headersOfNone })
    expect(none.status).toBe(500)
  })

  // The headers that ForwardAuth of Traefik and forward_auth of Caddy send. Both forward all headers of the client.
  test.each(["traefik", "caddy"])("behind %s, a client cannot choose the address to return to", async (proxy) => {
    const sent = {
      "X-Forwarded-Method": "GET",
      "X-Forwarded-Proto": "https",
      "X-Forwarded-Host": "app.example.com",
      "X-Forwarded-Uri": "/page?a=1",
      "X-Forwarded-For": "192.0.2.1",
      "X-Api-Key": gateway,
    }
    const client = {
      Accept: "text/html",
      "X-Original-Host": "evil.example",
      "X-Original-Uri": "/",
      "X-Original-Method": "POST",
    }
    const asked = { path: `/v1/authorize?proxy=${proxy}&sign_in=/in`, headers: Object.entries({ ...client, ...sent }) }
    const { status, headers } = await visit(server.httpUrl, asked)
    const back = encodeURIComponent("https://app.example.com/page?a=1")
    expect([status, headers.location]).toEqual([302, `/in?callbackUrl=${back}`])
  })
})
