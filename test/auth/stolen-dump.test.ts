import { createHash } from "node:crypto"
import { RemoteJwt } from "@authwire/client"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { beforeAll, describe, expect, test } from "@jest/globals"

const tables = [
  "users",
  "accounts",
  "sessions",
  "verification_tokens",
  "authenticators",
  "tenants",
  "api_keys",
  "idempotency_keys",
]

// An attacker has a complete copy of the database, and can call a service that uses the database.
const target = serviceDatabase()

describe("with a dump of the database", () => {
  const expires = new Date(Date.now() + 3_600_000)
  const session = { sessionToken: crypto.randomUUID(), userId: "u", expires }
  const link = { identifier: "ada@example.com", token: crypto.randomUUID(), expires }
  const account = {
    userId: "u",
    type: "oidc" as const,
    provider: "p",
    providerAccountId: "a",
    access_token: "access-3f8a",
    refresh_token: "refresh-3f8a",
    id_token: "id-3f8a",
    oauth_token: "oauth1-3f8a",
    oauth_token_secret: "oauth1-secret-3f8a",
  }
  /** Every value of every row. */
  const stolen: (string | Buffer)[] = []

  const authwire = useAuthwire(target)
  beforeAll(async () => {
    const { adapter } = authwire.client
    await adapter.createUser({ id: "u", email: "ada@example.com", emailVerified: null })
    await adapter.linkAccount(account)
    await adapter.createSession(session)
    await adapter.createVerificationToken(link)
    await adapter.createAuthenticator({
      ...{ credentialID: "c", userId: "u", providerAccountId: "a", credentialPublicKey: "k", counter: 0 },
      ...{ credentialDeviceType: "singleDevice", credentialBackedUp: false },
    })
    for (const table of tables) {
      for (const row of await authwire.database.query(`SELECT * FROM ${table}`)) {
        for (const value of Object.values(row)) {
          if (value instanceof ArrayBuffer || value instanceof Uint8Array) stolen.push(Buffer.from(value as Uint8Array))
          else if (value !== null) stolen.push(String(value))
        }
      }
    }
  })

  /** Returns each value in every encoding that a caller can send. */
  const guesses = () => [
    ...new Set(
      stolen.flatMap((value) => {
        const bytes = Buffer.from(value as string)
        const encoded = (["utf8", "latin1", "hex", "base64", "base64url"] as const).map((kind) => bytes.toString(kind))
        return [...encoded, bytes.toString("hex").toUpperCase(), createHash("sha256").update(bytes).digest("hex")]
      }),
    ),
  ]

  test("S-11: it has the data of the test, and none of its secrets in any form", () => {
    const text = stolen.map((value) => Buffer.from(value as string).toString("latin1")).join("\n")
    expect(text).toContain("ada@example.com")
    // Four values of the account, and the response of each of the five calls.
    expect(text.match(/sealed\.1\./g)).toHaveLength(4 + 5)
    const { access_token, refresh_token, id_token, oauth_token, oauth_token_secret } = account
    const tokens = [access_token, refresh_token, id_token, oauth_token, oauth_token_secret]
    for (const secret of [session.sessionToken, link.token, ...tokens]) {
      for (const kind of ["utf8", "hex", "base64", "base64url"] as const) {
        // Base64 depends on the offset of the text modulo three.
        for (const padding of kind.startsWith("base64") ? ["", "x", "xx"] : [""]) {
          const form = Buffer.from(padding + secret)
            .toString(kind)
            .slice(padding.length && 4)
            .replace(/.{0,3}=*$/, "")
          expect(text).not.toContain(form)
        }
      }
    }
  })

  test("S-10: no value of it signs anybody in: not as a session, nor as a link, nor as a token", async () => {
    const { adapter } = authwire.client
    const jwt = RemoteJwt({ url: authwire.server.grpcUrl, timeoutMs: 20_000 })
    const values = guesses().filter(
      (value) => value !== "" && !value.includes("\u0000") && Buffer.byteLength(value) <= 1024,
    )
    expect(values.length).toBeGreaterThan(100)
    for (const value of values) {
      expect(await adapter.getSessionAndUser(value)).toBeNull()
      expect(await adapter.useVerificationToken({ identifier: link.identifier, token: value })).toBeNull()
      await expect(jwt.decode({ token: value, salt: "authjs.session-token", secret: "x" })).rejects.toMatchObject({
        code: "UNAUTHENTICATED",
      })
    }
    expect(await adapter.getSessionAndUser(session.sessionToken)).not.toBeNull()
    expect(await adapter.useVerificationToken(link)).toEqual(link)
  })
})
