import { describe, expect, test } from "@jest/globals"
import type { Account } from "../../../../server/src/store/types.js"
import {
  anyone,
  type ContractContext,
  differentKeys,
  newAccount,
  newId,
  newUser,
  oddExtra,
  oddText,
  outcomes,
  range,
} from "../context.js"
import { unsealed } from "./unsealed.js"

export function accountContract(context: ContractContext): void {
  const rowsOf = async ({ provider, providerAccountId }: Account) => {
    const sql = "SELECT * FROM accounts WHERE provider = ? AND provider_account_id = ?"
    return (await context.database.sql(sql, [provider, providerAccountId])).map(unsealed)
  }
  const newUserId = async () => (await context.store.users.create(anyone, newUser())).id

  const everything = (userId: string) =>
    newAccount(userId, {
      type: "oidc",
      access_token: oddText,
      token_type: "bearer",
      id_token: "a.b.c",
      refresh_token: "refresh",
      scope: "openid profile",
      expires_in: 3599.5,
      expires_at: 1_893_456_000.25,
      authorization_details: [oddExtra, { type: "x" }],
      extra: oddExtra,
    })

  describe("link", () => {
    test("keeps every field exactly, and the database holds it", async () => {
      const account = everything(await newUserId())
      expect(await context.store.accounts.link(anyone, account)).toEqual(account)
      expect(await context.other.accounts.get(anyone, account)).toEqual(account)
      expect(await rowsOf(account)).toEqual([
        {
          tenant: "default",
          provider: "github",
          provider_account_id: account.providerAccountId,
          user_id: account.userId,
          type: "oidc",
          access_token: oddText,
          token_type: "bearer",
          id_token: "a.b.c",
          refresh_token: "refresh",
          scope: "openid profile",
          expires_in: 3599.5,
          expires_at: 1_893_456_000.25,
          authorization_details: JSON.stringify(account.authorization_details),
          extra: JSON.stringify(oddExtra),
          created: context.clock.now,
          updated: context.clock.now,
          ...{ refresh_holder: null, refresh_until: null, refresh_failure: null, refresh_mark: null },
        },
      ])
    })

    test("absent is not null, and an empty list is not absent", async () => {
      const userId = await newUserId()
      const absent = newAccount(userId)
      const empty = newAccount(userId, { authorization_details: [], extra: { refresh_token: null, scope: null } })
      for (const account of [absent, empty]) await context.store.accounts.link(anyone, account)
      expect(await context.store.accounts.get(anyone, absent)).toEqual(absent)
      expect(await context.store.accounts.get(anyone, empty)).toEqual(empty)
      expect(await rowsOf(empty)).toMatchObject([{ refresh_token: null, scope: null, authorization_details: "[]" }])
    })

    test("keeps token_type in lower case", async () => {
      const account = newAccount(await newUserId(), { token_type: "BeaRer" })
      expect(await context.store.accounts.link(anyone, account)).toMatchObject({ token_type: "bearer" })
      expect(await rowsOf(account)).toMatchObject([{ token_type: "bearer" }])
      expect(await context.store.accounts.link(anyone, { ...account, token_type: "DPoP" })).toMatchObject({
        token_type: "dpop",
      })
      expect(await rowsOf(account)).toMatchObject([{ token_type: "dpop" }])
    })

    test("keeps values as long as the schema allows", async () => {
      const account = newAccount(await newUserId(), {
        provider: newId().padEnd(255, "p"),
        providerAccountId: newId().padEnd(1024, "i"),
        access_token: "🙂".repeat(32_768),
        id_token: "i".repeat(131_072),
        refresh_token: "r".repeat(131_072),
        token_type: "t".repeat(255),
        scope: "s".repeat(16_384),
        authorization_details: [{ k: "x".repeat(65_526) }],
        extra: { k: "x".repeat(65_528) },
      })
      await context.store.accounts.link(anyone, account)
      expect(await context.store.accounts.get(anyone, account)).toEqual(account)
    })

    test.each([[0], [-1], [0.1], [1e300], [Number.MAX_SAFE_INTEGER], [5e-324]])(
      "keeps the number %p",
      async (number) => {
        const account = newAccount(await newUserId(), { expires_at: number, expires_in: number })
        await context.store.accounts.link(anyone, account)
        expect(await context.store.accounts.get(anyone, account)).toEqual(account)
      },
    )

    test("stores -0 as 0, and returns 0", async () => {
      const account = newAccount(await newUserId(), { expires_at: -0, expires_in: -0 })
      const kept = { ...account, expires_at: 0, expires_in: 0 }
      expect(await context.store.accounts.link(anyone, account)).toEqual(kept)
      expect(await context.store.accounts.get(anyone, account)).toEqual(kept)
      expect(await rowsOf(account)).toMatchObject([{ expires_at: 0, expires_in: 0 }])
      // The same for a repeated link.
      expect(await context.store.accounts.link(anyone, account)).toEqual(kept)
      expect(await context.store.accounts.get(anyone, account)).toEqual(kept)
    })

    test("USER_NOT_FOUND: no such user", async () => {
      const account = newAccount(newId())
      await expect(context.store.accounts.link(anyone, account)).rejects.toMatchObject({ reason: "USER_NOT_FOUND" })
      expect(await rowsOf(account)).toEqual([])
    })

    test.each([
      ["extra", { extra: { k: "x".repeat(65_529) } }],
      ["authorization_details", { authorization_details: ["x".repeat(65_533)] }],
    ])("INVALID_FIELD: %s of more than 65,536 bytes as JSON", async (field, tooLong) => {
      const account = newAccount(await newUserId(), tooLong)
      const invalid = { reason: "INVALID_FIELD", field }
      await expect(context.store.accounts.link(anyone, account)).rejects.toMatchObject(invalid)
      expect(await rowsOf(account)).toEqual([])
    })
  })

  describe("link again", () => {
    test("replaces the access token with all that describes it; the refresh token stays if none is given", async () => {
      const account = everything(await newUserId())
      await context.store.accounts.link(anyone, account)
      const again: Account = {
        provider: account.provider,
        providerAccountId: account.providerAccountId,
        userId: account.userId,
        type: "oauth",
        access_token: "new",
        expires_at: 2,
        authorization_details: [],
        extra: { added: true },
      }
      const { token_type, id_token, scope, expires_in, ...others } = account
      const linked = { ...others, ...again, extra: { ...account.extra, added: true } }
      expect(await context.store.accounts.link(anyone, again)).toEqual(linked)
      expect(await context.other.accounts.get(anyone, account)).toEqual(linked)
      expect(await rowsOf(account)).toMatchObject([
        { type: "oauth", access_token: "new", refresh_token: "refresh", expires_at: 2, authorization_details: "[]" },
      ])
    })

    test("without an access token replaces only the given fields", async () => {
      const account = everything(await newUserId())
      await context.store.accounts.link(anyone, account)
      const { provider, providerAccountId, userId } = account
      const again: Account = { provider, providerAccountId, userId, type: "oauth", scope: "new", extra: {} }
      const linked = { ...account, type: "oauth", scope: "new" }
      expect(await context.store.accounts.link(anyone, again)).toEqual(linked)
      expect(await context.other.accounts.get(anyone, account)).toEqual(linked)
    })

    test("clears a field that is null in extra, until it is given again", async () => {
      const account = everything(await newUserId())
      await context.store.accounts.link(anyone, account)
      const { provider, providerAccountId, userId, type } = account
      const key = { provider, providerAccountId, userId, type }
      const cleared = { refresh_token: null, expires_at: null, authorization_details: null }
      const { refresh_token, expires_at, authorization_details, ...rest } = account
      const bare = { ...rest, extra: { ...account.extra, ...cleared } }
      expect(await context.store.accounts.link(anyone, { ...key, extra: cleared })).toEqual(bare)
      expect(await context.store.accounts.get(anyone, key)).toEqual(bare)
      expect(await rowsOf(account)).toMatchObject([
        { refresh_token: null, expires_at: null, authorization_details: null, access_token: oddText },
      ])
      const given = { ...key, refresh_token, expires_at, authorization_details, extra: {} }
      expect(await context.store.accounts.link(anyone, given)).toEqual(account)
      expect(await context.store.accounts.get(anyone, key)).toEqual(account)
    })

    test("ACCOUNT_LINKED_TO_ANOTHER_USER: another user has it; nothing is changed", async () => {
      const account = newAccount(await newUserId(), { access_token: "first" })
      await context.store.accounts.link(anyone, account)
      const theft = { ...account, userId: await newUserId(), access_token: "second" }
      await expect(context.other.accounts.link(anyone, theft)).rejects.toMatchObject({
        reason: "ACCOUNT_LINKED_TO_ANOTHER_USER",
      })
      expect(await rowsOf(account)).toMatchObject([{ user_id: account.userId, access_token: "first" }])
    })

    test("INVALID_FIELD: extra of more than 65,536 bytes after merging", async () => {
      const account = newAccount(await newUserId(), { extra: { a: "x".repeat(40_000) } })
      await context.store.accounts.link(anyone, account)
      const again = { ...account, access_token: "new", extra: { b: "x".repeat(30_000) } }
      await expect(context.store.accounts.link(anyone, again)).rejects.toMatchObject({ field: "extra" })
      expect(await rowsOf(account)).toMatchObject([{ access_token: null }])
    })

    test("of two users that link the same account at the same time one gets it", async () => {
      const users = [await newUserId(), await newUserId()]
      for (const _ of range(5)) {
        const account = newAccount("")
        const calls = range(20).map((n) =>
          (n % 2 ? context.store : context.other).accounts.link(anyone, { ...account, userId: users[n % 2] as string }),
        )
        expect(await outcomes(calls)).toEqual({ ok: 10, ACCOUNT_LINKED_TO_ANOTHER_USER: 10 })
        expect(await rowsOf(account)).toHaveLength(1)
      }
    })

    test("concurrent links of one user all succeed, and no field is lost", async () => {
      const account = newAccount(await newUserId())
      const calls = range(20).map((n) =>
        (n % 2 ? context.store : context.other).accounts.link(anyone, { ...account, extra: { [`k${n}`]: n } }),
      )
      expect(await outcomes(calls)).toEqual({ ok: 20 })
      const [row] = await rowsOf(account)
      expect(JSON.parse(String(row?.extra))).toEqual(Object.fromEntries(range(20).map((n) => [`k${n}`, n])))
    })

    test("while it is unlinked, the account is linked completely or not at all", async () => {
      const account = everything(await newUserId())
      const calls = range(30).map((n) =>
        n % 3 === 0 ? context.other.accounts.unlink(anyone, account) : context.store.accounts.link(anyone, account),
      )
      expect(await outcomes(calls)).toEqual({ ok: 30 })
      expect([null, account]).toContainEqual(await context.store.accounts.get(anyone, account))
    })
  })

  describe("keys", () => {
    test.each(differentKeys)("are compared byte for byte: %s", async (_, one, another) => {
      const [mine, yours] = [await newUserId(), await newUserId()]
      const unique = newId()
      const accounts = [
        newAccount(mine, { provider: one, providerAccountId: unique }),
        newAccount(yours, { provider: another, providerAccountId: unique }),
        newAccount(mine, { provider: "p", providerAccountId: unique + one }),
        newAccount(yours, { provider: "p", providerAccountId: unique + another }),
      ]
      for (const account of accounts) {
        expect(await context.store.users.getByAccount(anyone, account)).toBeNull()
        await context.store.accounts.link(anyone, account)
      }
      for (const account of accounts) {
        expect(await context.store.accounts.get(anyone, account)).toEqual(account)
        expect(await context.store.users.getByAccount(anyone, account)).toMatchObject({ id: account.userId })
      }
      const together = await Promise.all(accounts.map((account) => context.store.users.getByAccount(anyone, account)))
      expect(together.map((user) => user?.id)).toEqual([mine, yours, mine, yours])
    })

    test("the two parts are not simply concatenated", async () => {
      const userId = await newUserId()
      const unique = newId()
      await context.store.accounts.link(anyone, newAccount(userId, { provider: "ab", providerAccountId: `c${unique}` }))
      expect(await context.store.accounts.get(anyone, { provider: "a", providerAccountId: `bc${unique}` })).toBeNull()
      // This also holds for keys that contain a separator of lookups that share a statement.
      const commas = [`a,${unique},b`, `a,${unique}`, "a"].map((provider, index) => {
        return { provider, providerAccountId: ["c", "b,c", `${unique},b,c`][index] as string }
      })
      await context.store.accounts.link(anyone, newAccount(userId, commas[1]))
      const together = await Promise.all(commas.map((key) => context.store.users.getByAccount(anyone, key)))
      expect(together.map((user) => user?.id)).toEqual([undefined, userId, undefined])
    })
  })

  describe("unlink", () => {
    test("returns the account as it was and removes it", async () => {
      const account = everything(await newUserId())
      await context.store.accounts.link(anyone, account)
      expect(await context.store.accounts.unlink(anyone, account)).toEqual(account)
      expect(await rowsOf(account)).toEqual([])
      expect(await context.store.accounts.get(anyone, account)).toBeNull()
      expect(await context.store.users.getByAccount(anyone, account)).toBeNull()
      expect(await context.store.accounts.unlink(anyone, account)).toBeNull()
    })

    test("of 10 concurrent calls one returns the account", async () => {
      const account = everything(await newUserId())
      await context.store.accounts.link(anyone, account)
      const answers = await Promise.all(
        range(10).map((n) => (n % 2 ? context.store : context.other).accounts.unlink(anyone, account)),
      )
      expect(answers.filter((answer) => answer !== null)).toEqual([account])
    })
  })
}
