import { readFileSync } from "node:fs"
import * as authjs from "@auth/core/jwt"
import { AuthwireError, RemoteJwt } from "@authwire/client"
import { createAuthwireClient as createEdgeClient } from "@authwire/client/edge"
import { TokenService } from "@authwire/proto"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { startServer, testSecret } from "@authwire/test-support/processes/server.js"
import { nextAuth4 } from "@authwire/token"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { describe, expect, test } from "@jest/globals"
import type { Vectors } from "../../token/vectors/vector.js"

const vectors: Vectors = JSON.parse(readFileSync(new URL("../../token/vectors.json", import.meta.url), "utf8"))
// Some vectors are valid only at a certain time.
const atAnyTime = <T extends { name: string; clock?: "frozen" }>(list: T[]) =>
  list.filter(({ clock }) => clock === undefined).map((vector) => [vector.name, vector] as const)

const salt = "authjs.session-token"

describe("TokenService", () => {
  const authwire = useAuthwire("sqlite")
  const tokens = () => authwire.client.tokens

  describe("the vectors that @auth/core made", () => {
    test.each(atAnyTime(vectors.valid))("Decode: %s", async (_, { token, salt, secrets, payload }) => {
      expect((await tokens().decode({ token, salt, secrets })).payload).toEqual(payload)
    })

    test.each(atAnyTime(vectors.refused))("Decode rejects: %s", async (_, { token, salt, secrets, code }) => {
      const rejected =
        token === "" ? { code: "INVALID_ARGUMENT" } : { code: "UNAUTHENTICATED", reason: code, method: "tokens.decode" }
      await expect(tokens().decode({ token, salt, secrets })).rejects.toMatchObject(rejected)
    })

    test.each(atAnyTime(vectors.requests))("GetToken: %s", async (_, { headers, payload, raw = false, ...rest }) => {
      const pairs = headers.map(([name, value]) => ({ name, value }))
      const { result } = await tokens().getToken({ ...rest, headers: pairs, raw })
      expect(result.value ?? null).toEqual(payload)
      expect(result.case).toBe(payload === null ? undefined : raw ? "raw" : "payload")
    })
  })

  test("S-1: @auth/core can read tokens of Encode with the service's secret, and the reverse", async () => {
    const payload = { sub: "u", name: "Zoë 🦊", nested: { list: [1, null, "x"] } }
    const { token } = await tokens().encode({ payload, salt, maxAge: 60 })
    const claims = await authjs.decode({ token, salt, secret: testSecret })
    expect(claims).toMatchObject(payload)
    expect(Number(claims?.exp) - Number(claims?.iat)).toBe(60)
    const theirs = await authjs.encode({ token: payload, salt, secret: testSecret })
    expect((await tokens().decode({ token: theirs, salt })).payload).toMatchObject(payload)
  })

  test("secrets of a request replace those of the service", async () => {
    const { token } = await tokens().encode({ payload: { sub: "u" }, salt, secrets: ["new", "old"] })
    expect(await authjs.decode({ token, salt, secret: "new" })).toMatchObject({ sub: "u" })
    await expect(tokens().decode({ token, salt })).rejects.toMatchObject({ code: "UNAUTHENTICATED" })
    expect((await tokens().decode({ token, salt, secrets: ["newer", "new"] })).payload?.sub).toBe("u")
  })

  test("next_auth4: tokens of next-auth 4 are issued and read, and not without it", async () => {
    const { token } = await tokens().encode({ payload: { sub: "u" }, nextAuth4: true })
    expect(await nextAuth4.decode({ token, secret: testSecret })).toMatchObject({ sub: "u" })
    expect((await tokens().decode({ token, nextAuth4: true })).payload?.sub).toBe("u")
    await expect(tokens().decode({ token, salt })).rejects.toMatchObject({ code: "UNAUTHENTICATED" })
    const own = { secrets: ["of the request"], nextAuth4: true }
    expect(await nextAuth4.decode({ ...(await tokens().encode(own)), secret: "of the request" })).not.toBeNull()
    const newer = await tokens().encode({ payload: { sub: "u" }, salt })
    expect((await tokens().decode({ token: newer.token, salt, nextAuth4: true })).payload?.sub).toBe("u")
    const headers = [{ name: "cookie", value: `next-auth.session-token=${token}` }]
    expect((await tokens().getToken({ headers, nextAuth4: true })).result).toMatchObject({ value: { sub: "u" } })
    expect((await tokens().getToken({ headers, raw: true, nextAuth4: true })).result.value).toBe(token)
    expect((await tokens().getToken({ headers })).result.case).toBeUndefined()
  })

  test("without next_auth4 a salt is required", async () => {
    for (const call of [tokens().encode({ payload: {} }), tokens().decode({ token: "t" })]) {
      await expect(call).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
        message: expect.stringContaining("salt is required, except with next_auth4"),
      })
    }
  })

  test("AUTH_SECRET_1..3 change the secret without a sign-out, in the order of Auth.js; https in SERVICE_AUTH_URL makes cookies secure", async () => {
    const old = await tokens().encode({ payload: { sub: "u" }, salt })
    const [newer, newest] = ["newer", "newest"].map((name) => name.padEnd(32, "-")) as [string, string]
    const secrets = { AUTH_SECRET: testSecret, AUTH_SECRET_1: newer, AUTH_SECRET_2: newest }
    const env = { ...secrets, SERVICE_AUTH_URL: "https://example.com" }
    const server = await startServer({ databaseUrl: authwire.database.url, env })
    const rotated = createClient(TokenService, createGrpcTransport({ baseUrl: server.grpcUrl }))
    expect((await rotated.decode({ token: old.token, salt })).payload?.sub).toBe("u")
    const { token } = await rotated.encode({ payload: { sub: "u" }, salt })
    expect(await authjs.decode({ token, salt, secret: newest })).toMatchObject({ sub: "u" })
    await expect(tokens().decode({ token, salt })).rejects.toMatchObject({ code: "UNAUTHENTICATED" })
    for (const name of [salt, `__Secure-${salt}`]) {
      const issued = await tokens().encode({ payload: { sub: "u" }, salt: name })
      const headers = [{ name: "cookie", value: `${name}=${issued.token}` }]
      const found = await Promise.all([tokens(), rotated].map((service) => service.getToken({ headers })))
      expect(found.map(({ result }) => result.case === "payload")).toEqual([name === salt, name !== salt])
    }
    await server.stop()
  })

  describe.each(["grpc", "edge"])("RemoteJwt over %s", (kind) => {
    const jwt = () =>
      kind === "grpc"
        ? RemoteJwt({ url: authwire.server.grpcUrl })
        : createEdgeClient({ url: authwire.server.httpUrl }).jwt

    test("S-38: encodes and decodes with the service's secret; the given secret is not sent", async () => {
      const { encode, decode } = jwt()
      const secret = "of-the-application"
      const token = await encode({ token: { sub: "u", name: null, role: "admin" }, secret, salt, maxAge: 60 })
      expect(await authjs.decode({ token, salt, secret: testSecret })).toMatchObject({ sub: "u", name: null })
      expect(await decode({ token, secret, salt })).toMatchObject({ sub: "u", name: null, role: "admin" })
      expect(await decode({ secret, salt })).toBeNull()
    })

    test("throws the error of a token, and an error when the service is unreachable", async () => {
      const error = await jwt()
        .decode({ token: "no.token", secret: "x", salt })
        .catch((caught: unknown) => caught)
      expect(error).toBeInstanceOf(AuthwireError)
      expect(error).toMatchObject({ code: "UNAUTHENTICATED", reason: "TOKEN_MALFORMED", method: "decode" })
      await expect(
        RemoteJwt({ url: "http://127.0.0.1:1" }).decode({ token: "x", secret: "x", salt }),
      ).rejects.toMatchObject({ code: "UNAVAILABLE" })
    })
  })
})
