import { TokenService } from "@authwire/proto"
import { sessionCookie } from "@authwire/test-support/applications/sign-in.js"
import { http1Options } from "@authwire/test-support/connections/http1.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { testSecret } from "@authwire/test-support/processes/server.js"
import { type Client, createClient } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node"
import { beforeAll, describe, expect, test } from "@jest/globals"
import { base64url, forge } from "../../token/test/forge.js"
import { derive } from "../../token/vectors/issue.js"
import { failureOf } from "../transports/world.js"

// Every holder of the secret can encrypt any text, for example an application that issues its own tokens. Claims that a
// client of the service could not read, or would read differently, make the token invalid.

const salt = sessionCookie
const { key, kid } = await derive({ secret: testSecret, salt })

/** Returns a token with this text as its claims. */
const tokenOf = (claims: string) =>
  forge({ key, header: base64url(JSON.stringify({ alg: "dir", enc: "A256CBC-HS512", kid })), content: claims })

const objects = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`

// server/src/rpc/json.test.ts tests each rule. These claims pass through the decoders of JSON and of the token module.
const malformed: [string, string][] = [
  ["objects nested 33 deep", objects(33)],
  ["objects nested 20,000 deep", objects(20_000)],
  ["lists nested 300,000 deep", `{"a":${"[".repeat(300_000)}${"]".repeat(300_000)}}`],
  ["an expiry beyond all numbers", '{"exp":1e999}'],
  ["a name with half a character", '{"\\ud800":1}'],
]
const readable: [string, string][] = [
  ["objects nested 32 deep", objects(32)],
  ["the largest number", '{"exp":1.7976931348623157e308}'],
]

describe("S-33: a token whose claims some client could not read is malformed", () => {
  const authwire = useAuthwire("sqlite")
  const clients: Client<typeof TokenService>[] = []
  beforeAll(async () => {
    const { server, client } = authwire
    clients.push(
      createClient(TokenService, createGrpcTransport({ baseUrl: server.grpcUrl })),
      createClient(
        TokenService,
        createConnectTransport({ ...http1Options, baseUrl: server.httpUrl, useBinaryFormat: false }),
      ),
      client.tokens,
    )
  })
  const headers = (...tokens: string[]) => [
    { name: "cookie", value: tokens.map((token, at) => `${sessionCookie}${at === 0 ? "" : ".0"}=${token}`).join("; ") },
  ]

  test.each(malformed)("%s", async (_, claims) => {
    const token = tokenOf(claims)
    for (const client of clients) {
      const { code, infos } = await failureOf(client.decode({ token, salt }))
      expect([code, infos[0]?.reason]).toEqual(["Unauthenticated", "TOKEN_MALFORMED"])
      expect((await client.getToken({ headers: headers(token) })).result.case).toBeUndefined()
    }
  })

  test.each(readable)("but not %s", async (_, claims) => {
    const token = tokenOf(claims)
    for (const client of clients) {
      expect((await client.decode({ token, salt })).payload).toEqual(JSON.parse(claims))
      const answer = await client.getToken({ headers: headers(token) })
      expect(answer.result).toEqual({ case: "payload", value: JSON.parse(claims) })
    }
  })

  test("a malformed token of an old cookie does not hide the valid one", async () => {
    const leftOver = tokenOf('{"sub":"left over","iat":1e999}')
    const token = tokenOf('{"sub":"ada","iat":1}')
    for (const client of clients) {
      for (const both of [headers(leftOver, token), headers(token, leftOver)]) {
        const answer = await client.getToken({ headers: both })
        expect(answer.result).toEqual({ case: "payload", value: { sub: "ada", iat: 1 } })
      }
    }
  })

  test("the log has no error", () => {
    expect(authwire.server.log()).not.toMatch(/"level":(50|60)/)
  })
})
