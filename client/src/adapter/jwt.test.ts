import { TokenService } from "@authwire/proto"
import * as local from "@authwire/token"
import { createRouterTransport } from "@connectrpc/connect"
import { describe, expect, test } from "@jest/globals"
import { RemoteJwt as remoteJwtOverFetch } from "../edge.js"
import { RemoteJwt } from "../index.js"

const encoding = { token: { sub: "u1" }, secret: "s", salt: "c" }
const decoding = { token: "t", secret: "s", salt: "c" }

/** The functions over a service, or a proxy in front of it, whose answers have no content. */
const empty = {
  gRPC: RemoteJwt({
    url: "http://authwire.test:50051",
    transport: createRouterTransport(({ service }) =>
      service(TokenService, { encode: () => ({}), decode: () => ({}) }),
    ),
  }),
  fetch: remoteJwtOverFetch({
    url: "https://authwire.test",
    fetch: async () => new Response(null, { headers: { "content-type": "application/proto" } }),
  }),
}

describe.each(Object.entries(empty))("RemoteJwt over %s", (_, { encode, decode }) => {
  test("an answer without a token or a payload is an error", async () => {
    await expect(encode(encoding)).rejects.toMatchObject({
      message: "encode: INTERNAL: the service answered without a token",
    })
    await expect(decode(decoding)).rejects.toMatchObject({
      message: "decode: INTERNAL: the service answered without a payload",
    })
  })
})

test("RemoteJwt returns a payload without claims", async () => {
  const transport = createRouterTransport(({ service }) => service(TokenService, { decode: () => ({ payload: {} }) }))
  const { decode } = RemoteJwt({ url: "http://authwire.test:50051", transport })
  expect(await decode(decoding)).toEqual({})
})

test("nextAuth4 sends the salt of Auth.js, or none; without it a missing salt is explained", async () => {
  const seen: unknown[] = []
  const transport = createRouterTransport(({ service }) =>
    service(TokenService, {
      encode: ({ salt, nextAuth4 }) => ({ token: String(seen.push([salt, nextAuth4])) }),
      decode({ salt, nextAuth4 }) {
        seen.push([salt, nextAuth4])
        return { payload: {} }
      },
    }),
  )
  const url = "http://authwire.test:50051"
  const { encode, decode } = RemoteJwt({ url, transport, nextAuth4: true })
  // As next-auth 4 calls them.
  await encode({ token: { sub: "u1" }, secret: "s", maxAge: 60 })
  await decode({ token: "t", secret: "s" })
  await decode(decoding)
  await RemoteJwt({ url, transport }).decode(decoding)
  expect(seen).toEqual([
    ["", true],
    ["", true],
    ["c", true],
    ["c", false],
  ])
  await expect(RemoteJwt({ url, transport }).decode({ token: "t", secret: "s" })).rejects.toThrow("option nextAuth4")
  expect(() => RemoteJwt({ url, transport, nextAuth4: "yes" as unknown as boolean })).toThrow("nextAuth4")
})

describe("RemoteJwt converts claims to JSON", () => {
  let payload: unknown
  const transport = createRouterTransport(({ service }) =>
    service(TokenService, {
      encode(request) {
        payload = request.payload
        return { token: "t" }
      },
    }),
  )
  const { encode } = RemoteJwt({ url: "http://authwire.test:50051", transport })

  test.each<[string, unknown]>([
    // As in `Math.floor(Date.now() / 1000) + account.expires_in`, for a provider whose tokens do not expire.
    ["NaN", Number.NaN],
    ["an infinite number", Number.POSITIVE_INFINITY],
    ["a function", () => 1],
    ["a symbol", Symbol("s")],
    ["undefined", undefined],
    ["a date", new Date(0)],
    ["a URL", new URL("https://example.com/")],
    ["a map", new Map([["a", 1]])],
    ["bytes", new Uint8Array(2)],
    ["a boxed string", Object("text")],
    ["an error", new Error("hidden")],
    ["the key __proto__", JSON.parse('{ "__proto__": { "a": 1 } }')],
  ])("as @authwire/token does: %s", async (_, value) => {
    const token = { sub: "u1", value, list: [value] }
    const { iat, exp, jti, ...claims } = (await local.decode({
      ...encoding,
      token: await local.encode({ ...encoding, token }),
    })) as local.JWT
    await encode({ ...encoding, token })
    expect(JSON.stringify(payload)).toBe(JSON.stringify(claims))
  })

  test.each([
    ["a bigint", 1n],
    ["half a surrogate pair", "\ud800"],
    ["an object that contains itself", circular()],
  ])("and rejects %s", async (_, value) => {
    await expect(encode({ ...encoding, token: { value } })).rejects.toMatchObject({ method: "encode" })
  })
})

function circular(): object {
  const value: Record<string, unknown> = {}
  value.self = value
  return value
}
