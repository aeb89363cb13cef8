import { createHash } from "node:crypto"
import { describe, expect, test } from "@jest/globals"
import type { VerificationToken } from "../../../server/src/store/types.js"
import { anyone, type ContractContext, day, differentKeys, newId, outcomes, range } from "./context.js"

export function verificationTokenContract(context: ContractContext): void {
  const hashOf = (token: string) => createHash("sha256").update(token).digest("hex").toUpperCase()
  const rowsOf = ({ identifier, token }: VerificationToken) =>
    context.database.sql(
      "SELECT tenant, identifier, HEX(token_hash) AS hash, expires FROM verification_tokens WHERE identifier = ? AND HEX(token_hash) = ?",
      [identifier, hashOf(token)],
    )
  const newToken = (token: Partial<VerificationToken> = {}): VerificationToken => ({
    identifier: `${newId()}@example.com`,
    token: newId(),
    expires: new Date(context.clock.now + day + 0.123),
    ...token,
  })

  describe("create", () => {
    test("keeps every field exactly, and the database holds it, but not the token", async () => {
      const token = newToken({ identifier: `Zoë 🙂 ${newId()}`, expires: new Date("2031-05-06T07:08:09.123Z") })
      expect(await context.store.verificationTokens.create(anyone, token)).toEqual(token)
      const expires = Date.UTC(2031, 4, 6, 7, 8, 9, 123)
      expect(await rowsOf(token)).toEqual([
        { tenant: "default", identifier: token.identifier, hash: hashOf(token.token), expires },
      ])
      expect(JSON.stringify(await context.database.sql("SELECT * FROM verification_tokens"))).not.toContain(token.token)
      expect(await context.other.verificationTokens.use(anyone, token)).toEqual(token)
    })

    test("keeps keys as long as the schema allows", async () => {
      const token = newToken({ identifier: newId().padEnd(1280, "i"), token: newId().padEnd(1024, "t") })
      await context.store.verificationTokens.create(anyone, token)
      expect(await context.store.verificationTokens.use(anyone, token)).toEqual(token)
    })

    test("VERIFICATION_TOKEN_ALREADY_EXISTS: the identifier has the token; it is left as it is", async () => {
      const token = newToken()
      await context.store.verificationTokens.create(anyone, token)
      const again = { ...token, expires: new Date(context.clock.now + 2 * day) }
      await expect(context.other.verificationTokens.create(anyone, again)).rejects.toMatchObject({
        reason: "VERIFICATION_TOKEN_ALREADY_EXISTS",
      })
      expect(await rowsOf(token)).toMatchObject([{ expires: token.expires.getTime() }])
    })

    test("an identifier may have many tokens, and a token many identifiers", async () => {
      const token = newToken()
      const others = [newToken({ identifier: token.identifier }), newToken({ token: token.token })]
      const calls = [token, ...others].map((each) => context.store.verificationTokens.create(anyone, each))
      expect(await outcomes(calls)).toEqual({ ok: 3 })
    })
  })

  describe("use", () => {
    test("returns the token and deletes it", async () => {
      const token = newToken()
      await context.store.verificationTokens.create(anyone, token)
      expect(await context.store.verificationTokens.use(anyone, token)).toEqual(token)
      expect(await rowsOf(token)).toEqual([])
      expect(await context.store.verificationTokens.use(anyone, token)).toBeNull()
    })

    test("S-26: exactly one of 50 concurrent calls on two stores gets the token", async () => {
      for (const _ of range(5)) {
        const token = newToken()
        await context.store.verificationTokens.create(anyone, token)
        const answers = await Promise.all(
          range(50).map((n) => (n % 2 ? context.store : context.other).verificationTokens.use(anyone, token)),
        )
        expect(answers.filter((answer) => answer !== null)).toEqual([token])
        expect(await rowsOf(token)).toEqual([])
      }
    })

    test("many concurrent calls each get and delete their own token, even if identifiers and tokens are shared", async () => {
      const [identifiers, texts] = [range(5).map(newId), range(4).map(newId)]
      const tokens = identifiers.flatMap((identifier) => texts.map((token) => newToken({ identifier, token })))
      for (const token of tokens) await context.store.verificationTokens.create(anyone, token)
      const used = await Promise.all(
        [...tokens, newToken()].map((token) => context.store.verificationTokens.use(anyone, token)),
      )
      expect(used).toEqual([...tokens, null])
      for (const token of tokens) expect(await rowsOf(token)).toEqual([])
    })

    test("returns and deletes an expired token too", async () => {
      const token = newToken({ expires: new Date(context.clock.now - day) })
      await context.store.verificationTokens.create(anyone, token)
      expect(await context.store.verificationTokens.use(anyone, token)).toEqual(token)
      expect(await rowsOf(token)).toEqual([])
    })

    test("null: identifier and token must both match", async () => {
      const [one, another] = [newToken(), newToken()]
      await context.store.verificationTokens.create(anyone, one)
      await context.store.verificationTokens.create(anyone, another)
      const crossed = { identifier: one.identifier, token: another.token }
      expect(await context.store.verificationTokens.use(anyone, crossed)).toBeNull()
      expect([...(await rowsOf(one)), ...(await rowsOf(another))]).toHaveLength(2)
    })

    test.each(differentKeys)("compares byte for byte: %s", async (_, one, another) => {
      const identifier = newId()
      const tokens = [
        newToken({ identifier: identifier + one, token: "t" }),
        newToken({ identifier: identifier + another, token: "t" }),
        newToken({ identifier, token: one }),
        newToken({ identifier, token: another }),
      ]
      for (const token of tokens) {
        expect(await context.store.verificationTokens.use(anyone, token)).toBeNull()
        await context.store.verificationTokens.create(anyone, token)
      }
      for (const token of tokens) expect(await context.store.verificationTokens.use(anyone, token)).toEqual(token)
    })
  })
}
