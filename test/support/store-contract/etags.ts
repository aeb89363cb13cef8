import { describe, expect, test } from "@jest/globals"
import { accountEtag, userEtag } from "../../../server/src/store/etag.js"
import type { Account, User, UserPatch } from "../../../server/src/store/types.js"
import {
  anyone,
  type ContractContext,
  day,
  newAccount,
  newId,
  newSession,
  newUser,
  oddExtra,
  outcomes,
  range,
} from "./context.js"

export function etagContract(context: ContractContext): void {
  const stores = () => [context.store, context.other]
  const userRow = async (id: string) => (await context.database.sql("SELECT * FROM users WHERE id = ?", [id]))[0]
  const accountRow = async ({ providerAccountId }: Account) =>
    (await context.database.sql("SELECT * FROM accounts WHERE provider_account_id = ?", [providerAccountId]))[0]
  const stale = { reason: "STALE_ETAG" }

  describe("of a user", () => {
    const everything = () =>
      newUser({
        email: `${newId()}@example.com`,
        emailVerified: new Date(context.clock.now - 1),
        name: "Ada",
        image: "data:,x",
        extra: oddExtra,
      })

    test("is the same in the results of writes and in later reads", async () => {
      const given = everything()
      const created = await context.store.users.create(anyone, given)
      const get = async () => userEtag((await context.other.users.get(anyone, given.id)) as User)
      expect(await get()).toBe(userEtag(created))
      const updated = await context.store.users.update(anyone, given.id, { name: null, extra: { b: 1, "1": 2 } })
      expect(userEtag(updated as User)).not.toBe(userEtag(created))
      expect(await get()).toBe(userEtag(updated as User))
    })

    test.each<[string, UserPatch]>([
      ["the address", { email: "other@example.com" }],
      ["the time of its verification", { emailVerified: new Date(Date.UTC(2030, 0, 1)) }],
      ["the name", { name: "Ada L." }],
      ["the picture", { image: null }],
      ["a further property", { extra: { z: 2 } }],
      ["the case of a letter", { name: "ada" }],
    ])("an update of %s makes it stale, and nothing else is written with it", async (_, patch) => {
      const user = await context.store.users.create(anyone, everything())
      const etag = userEtag(user)
      const updated = await context.store.users.update(anyone, user.id, patch, { etag })
      const before = await userRow(user.id)
      const again = context.other.users.update(anyone, user.id, { name: "lost" }, { etag })
      await expect(again).rejects.toMatchObject(stale)
      expect(await userRow(user.id)).toEqual(before)
      const next = { etag: userEtag(updated as User) }
      expect(await context.other.users.update(anyone, user.id, { name: "kept" }, next)).toMatchObject({ name: "kept" })
      await context.store.users.update(anyone, user.id, { email: null })
    })

    test("an update that changes nothing, a link and a session leave it current", async () => {
      const user = await context.store.users.create(anyone, everything())
      const etag = userEtag(user)
      await context.store.users.update(anyone, user.id, { name: "Ada" })
      await context.store.accounts.link(anyone, newAccount(user.id))
      await context.store.sessions.create(anyone, newSession(user.id, context.clock.now + day))
      expect(await context.store.users.update(anyone, user.id, { name: "new" }, { etag })).not.toBeNull()
    })

    test("of 50 concurrent updates with one etag exactly one succeeds", async () => {
      const user = await context.store.users.create(anyone, newUser())
      const etag = userEtag(user)
      const calls = range(50).map((n) =>
        stores()[n % 2]?.users.update(anyone, user.id, { extra: { [`k${n}`]: n } }, { etag }),
      )
      expect(await outcomes(calls as Promise<unknown>[])).toEqual({ ok: 1, STALE_ETAG: 49 })
      expect(Object.keys(JSON.parse(String((await userRow(user.id))?.extra)))).toHaveLength(1)
    })

    // Of more than 1,000 sessions most are deleted before the transaction that compares the etags.
    test("a stale one revokes no sessions, however many the user has", async () => {
      const { id } = await context.store.users.create(anyone, everything())
      const create = () => context.store.sessions.create(anyone, newSession(id, context.clock.now + day))
      for (const _ of range(12)) await Promise.all(range(100).map(create))
      const options = { revokeSessionsOnEmailChange: true, etag: "stale" }
      const update = context.store.users.update(anyone, id, { email: `${newId()}@example.com` }, options)
      await expect(update).rejects.toMatchObject(stale)
      expect(await context.database.sql("SELECT id FROM sessions WHERE user_id = ?", [id])).toHaveLength(1200)
    })

    test("null: no such user, whatever the etag", async () => {
      expect(await context.store.users.update(anyone, newId(), { name: "x" }, { etag: "any" })).toBeNull()
    })
  })

  describe("of an account", () => {
    const linked = async (account: Partial<Account> = {}) => {
      const { id } = await context.store.users.create(anyone, newUser())
      return context.store.accounts.link(anyone, newAccount(id, { access_token: "a", refresh_token: "r", ...account }))
    }

    test("is the same in the results of writes and in later reads", async () => {
      const account = await linked({ token_type: "Bearer", expires_at: -0, scope: "s", extra: oddExtra })
      const get = async () => accountEtag((await context.other.accounts.get(anyone, account)) as Account)
      expect(await get()).toBe(accountEtag(account))
      const again = await context.store.accounts.link(anyone, { ...account, access_token: "b", extra: { z: null } })
      expect(accountEtag(again)).not.toBe(accountEtag(account))
      expect(await get()).toBe(accountEtag(again))
      const page = await context.store.accounts.listByUser(anyone, account.userId, { size: 1 }, { tokens: true })
      expect(accountEtag(page.items[0] as Account)).toBe(accountEtag(again))
    })

    test.each<[string, Partial<Account>]>([
      ["the access token", { access_token: "b" }],
      ["the refresh token", { refresh_token: "s" }],
      ["the type", { type: "oidc" }],
      ["a further property", { extra: { k: 1 } }],
    ])("another %s makes it stale, and nothing else is written with it", async (_, change) => {
      const account = await linked()
      const etag = accountEtag(account)
      const changed = await context.store.accounts.link(anyone, { ...account, ...change }, { etag })
      const before = await accountRow(account)
      const again = context.other.accounts.link(anyone, { ...account, access_token: "lost" }, { etag })
      await expect(again).rejects.toMatchObject(stale)
      expect(await accountRow(account)).toEqual(before)
      await context.other.accounts.link(anyone, account, { etag: accountEtag(changed) })
    })

    test("of 50 concurrent links with one etag exactly one succeeds", async () => {
      const account = await linked()
      const etag = accountEtag(account)
      const calls = range(50).map((n) =>
        stores()[n % 2]?.accounts.link(anyone, { ...account, access_token: `token ${n}` }, { etag }),
      )
      expect(await outcomes(calls as Promise<unknown>[])).toEqual({ ok: 1, STALE_ETAG: 49 })
    })

    test("STALE_ETAG: the account is not linked any more; it is not linked anew", async () => {
      const account = await linked()
      await context.store.accounts.unlink(anyone, account)
      const again = context.store.accounts.link(anyone, account, { etag: accountEtag(account) })
      await expect(again).rejects.toMatchObject(stale)
      expect(await accountRow(account)).toBeUndefined()
    })

    test("ACCOUNT_LINKED_TO_ANOTHER_USER: with the etag too", async () => {
      const account = await linked()
      const { id: userId } = await context.store.users.create(anyone, newUser())
      const link = context.store.accounts.link(anyone, { ...account, userId }, { etag: accountEtag(account) })
      await expect(link).rejects.toMatchObject({ reason: "ACCOUNT_LINKED_TO_ANOTHER_USER" })
    })
  })
}
