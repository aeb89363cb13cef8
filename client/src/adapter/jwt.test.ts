import { TokenService } from "@authwire/proto"
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
