import { describe, expect, test } from "@jest/globals"
import type { Account } from "../../../../server/src/store/types.js"
import { anyone, type ContractContext, newAccount, newId, newUser, oddExtra, range } from "../context.js"
import { allPages } from "../pages.js"

export function accountListContract(context: ContractContext): void {
  const newUserId = async () => (await context.store.users.create(anyone, newUser())).id
  const keysOf = (accounts: Account[]) =>
    accounts.map(({ provider, providerAccountId }) => [provider, providerAccountId])

  describe("listByUser", () => {
    test("returns the accounts of the user, each on one page, in the byte order of provider and id", async () => {
      const userId = await newUserId()
      const unique = newId()
      const inOrder = ["A", "a", "e\u0301", "é"].flatMap((provider) =>
        [" ", "A", "a", "ａ", "🙂"].map((end) => [provider, unique + end] as const),
      )
      for (const [provider, providerAccountId] of [...inOrder].reverse()) {
        await context.store.accounts.link(anyone, newAccount(userId, { provider, providerAccountId }))
      }
      await context.store.accounts.link(anyone, newAccount(await newUserId(), { provider: "A" }))
      for (const size of [1, 7, 16, 20, 21]) {
        const pages = await allPages(size, (page) =>
          context.other.accounts.listByUser(anyone, userId, page, { tokens: false }),
        )
        expect(pages.map(({ length }) => length)).toEqual(
          range(Math.ceil(20 / size)).map((n) => Math.min(size, 20 - n * size)),
        )
        expect(keysOf(pages.flat())).toEqual(inOrder)
      }
    })

    test("contains credentials for the provider only if tokens are requested", async () => {
      const userId = await newUserId()
      const shown = newAccount(userId, {
        type: "oidc",
        token_type: "bearer",
        scope: "openid",
        expires_at: 1_893_456_000,
        authorization_details: [{ type: "x" }],
      })
      const account = { ...shown, access_token: "a", refresh_token: "r", id_token: "i", extra: oddExtra }
      await context.store.accounts.link(anyone, account)
      const list = (tokens: boolean) => context.store.accounts.listByUser(anyone, userId, { size: 9 }, { tokens })
      const now = new Date(context.clock.now)
      expect(await list(false)).toEqual({ items: [{ ...shown, created: now, updated: now }] })
      expect(await list(true)).toEqual({ items: [{ ...account, created: now, updated: now }] })
    })

    test("returns none for a user without any, and for an unknown user", async () => {
      for (const userId of [await newUserId(), newId()]) {
        const page = await context.store.accounts.listByUser(anyone, userId, { size: 1 }, { tokens: true })
        expect(page).toEqual({ items: [] })
      }
    })
  })
}
