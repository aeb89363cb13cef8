import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { type Authwire, startAuthwire } from "@authwire/test-support/processes/authwire.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

// Pairs that some collation treats as equal.
const pairs: [difference: string, one: string, other: string][] = [
  ["case", "Key", "key"],
  ["accents", "resume", "résumé"],
  ["Unicode form", "caf\u00e9", "cafe\u0301"],
  ["a trailing space", "key", "key "],
  ["a leading space", "key", " key"],
  ["width", "key", "ｋｅｙ"],
  ["a soft hyphen", "key", "k\u00ady"],
  ["sharp s", "strasse", "straße"],
]
const expires = new Date(Date.now() + 3_600_000)

const target = serviceDatabase()

describe("keys are compared as bytes", () => {
  let authwire: Authwire
  let adapter: Authwire["adapter"]
  let userId: string
  beforeAll(async () => {
    authwire = await startAuthwire(target)
    adapter = authwire.adapter
    userId = (await adapter.createUser({ id: "owner", email: "owner@example.com", emailVerified: null })).id
  })
  afterAll(() => authwire.close())

  describe.each(pairs)("that differ in %s", (difference, one, other) => {
    const key = (text: string) => `${difference}:${text}`

    test("user ids", async () => {
      for (const text of [one, other])
        await adapter.createUser({ id: key(text), email: "", emailVerified: null, name: text })
      expect((await adapter.getUser(key(one)))?.name).toBe(one)
      expect((await adapter.getUser(key(other)))?.name).toBe(other)
    })

    test("providers and provider account ids", async () => {
      const accounts = [
        { provider: key(one), providerAccountId: key(one) },
        { provider: key(one), providerAccountId: key(other) },
        { provider: key(other), providerAccountId: key(one) },
      ]
      for (const [index, account] of accounts.entries()) {
        await adapter.linkAccount({ ...account, userId, type: "oauth", access_token: `${index}` })
      }
      for (const [index, account] of accounts.entries()) {
        const found = await adapter.getAccount(account.providerAccountId, account.provider)
        expect(found?.access_token).toBe(`${index}`)
      }
      expect(await adapter.getAccount(key(other), key(other))).toBeNull()
      expect(await adapter.getUserByAccount({ provider: key(other), providerAccountId: key(other) })).toBeNull()
    })

    test("session tokens", async () => {
      await adapter.createSession({ sessionToken: key(one), userId, expires })
      expect(await adapter.getSessionAndUser(key(other))).toBeNull()
      await adapter.createSession({ sessionToken: key(other), userId, expires })
      await adapter.deleteSession(key(other))
      expect(await adapter.getSessionAndUser(key(one))).not.toBeNull()
    })

    test("identifiers and verification tokens", async () => {
      await adapter.createVerificationToken({ identifier: key(one), token: key(one), expires })
      expect(await adapter.useVerificationToken({ identifier: key(other), token: key(one) })).toBeNull()
      expect(await adapter.useVerificationToken({ identifier: key(one), token: key(other) })).toBeNull()
      await adapter.createVerificationToken({ identifier: key(one), token: key(other), expires })
      expect(await adapter.useVerificationToken({ identifier: key(one), token: key(one) })).not.toBeNull()
      expect(await adapter.useVerificationToken({ identifier: key(one), token: key(other) })).not.toBeNull()
    })

    test("credential ids", async () => {
      for (const [counter, text] of [one, other].entries()) {
        await adapter.createAuthenticator({
          credentialID: key(text),
          userId,
          providerAccountId: "a",
          credentialPublicKey: "k",
          counter,
          credentialDeviceType: "singleDevice",
          credentialBackedUp: false,
        })
      }
      expect((await adapter.getAuthenticator(key(one)))?.counter).toBe(0)
      expect((await adapter.getAuthenticator(key(other)))?.counter).toBe(1)
    })
  })

  describe("e-mail addresses", () => {
    let serial = 0
    const create = (email: string) => adapter.createUser({ id: crypto.randomUUID(), email, emailVerified: null })

    test.each([
      ["ASCII case", "I.Am@Example.com", "i.aM@eXAMPLE.COM"],
      ["ASCII space around", "around@example.com", " around@example.com\t"],
    ])("that differ in %s are the same", async (_, one, other) => {
      const user = await create(one)
      expect(await adapter.getUserByEmail(other)).toEqual(user)
      await expect(create(other)).rejects.toMatchObject({ reason: "EMAIL_ALREADY_EXISTS" })
    })

    test.each([
      ["dotless i", "ı", "i"],
      ["dotted capital I", "İ", "i"],
      ["the Kelvin sign", "\u212a", "k"],
      ["an accent", "é", "e"],
      ["the case of a letter that is not ASCII", "É", "é"],
      ["Unicode form", "\u00e9", "e\u0301"],
      ["sharp s", "ß", "ss"],
      ["long s", "ſ", "s"],
      ["Cyrillic a", "а", "a"],
      ["a space inside", "a b", "ab"],
      ["a space that is not ASCII", "a", "\u00a0a"],
    ])("that differ in %s are not", async (_, one, other) => {
      serial += 1
      const [first, second] = [`${one}@${serial}.example.com`, `${other}@${serial}.example.com`]
      const user = await create(first)
      expect(await adapter.getUserByEmail(second)).toBeNull()
      const otherUser = await create(second)
      expect(await adapter.getUserByEmail(first)).toEqual(user)
      expect(await adapter.getUserByEmail(second)).toEqual(otherUser)
    })
  })
})
