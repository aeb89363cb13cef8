import { describe, expect, test } from "@jest/globals"
import type { Account } from "../../../server/src/store/types.js"
import { until } from "../until.js"
import {
  anyone,
  type ContractContext,
  createTenant,
  day,
  expiredRows,
  newAccount,
  newId,
  newSession,
  newUser,
  range,
} from "./context.js"
import { once } from "./repeatable-writes.js"
import { addSessions } from "./sessions/sessions-of-user.js"

const tokens = { access_token: "a", refresh_token: "r", id_token: "i", expires_at: 4_000_000_000 }
const allSessions = { sessions: true, tokens: "online" } as const

/** What the signals of providers demand. */
export function signalContract(context: ContractContext): void {
  type Tenant = { tenant: string }

  /** Creates the user `u` with an account at `idp`, in a tenant of its own. */
  async function newCaller(more: Partial<Account> = {}): Promise<{ caller: Tenant; account: Account }> {
    const caller = await createTenant(context)
    await context.store.users.create(caller, newUser({ id: "u" }))
    const account = newAccount("u", { provider: "idp", ...tokens, ...more })
    return { caller, account: await context.store.accounts.link(caller, account) }
  }
  const begin = async (caller: Tenant, origin: object = { provider: "idp" }, userId = "u") =>
    (await context.store.sessions.create(caller, newSession(userId, context.clock.now + day), origin)).id
  const idsIn = async ({ tenant }: Tenant) =>
    (await context.database.sql("SELECT id FROM sessions WHERE tenant = ?", [tenant])).map(({ id }) => id).toSorted()
  const kindsIn = async ({ tenant }: Tenant) =>
    (await context.database.sql("SELECT kind FROM events WHERE tenant = ? ORDER BY id", [tenant])).map(
      ({ kind }) => kind,
    )
  const since = async (caller: Tenant, work: () => Promise<unknown>) => {
    const before = (await kindsIn(caller)).length
    await work()
    return (await kindsIn(caller)).slice(before)
  }

  describe("endProviderSession", () => {
    test("deletes the sessions that began in it, of whatever user, and no others", async () => {
      const { caller } = await newCaller()
      const origin = { provider: "idp", providerSessionId: "sid" }
      await context.store.users.create(caller, newUser({ id: "v" }))
      const [other, foreign] = [await createTenant(context), { ...origin, provider: "other" }]
      await context.store.users.create(other, newUser({ id: "u" }))
      const kept = [await begin(caller, { ...origin, providerSessionId: "Sid" }), await begin(caller, foreign)]
      const elsewhere = await begin(other, origin)
      for (const id of ["u", "u", "v"]) await begin(caller, origin, id)
      const ended = { provider: "idp", providerSessionId: "sid" }
      const kinds = await since(caller, async () => {
        const answer = await context.store.signals.endProviderSession(caller, ended)
        expect(answer).toEqual({ userId: expect.stringMatching(/^[uv]$/), revokedSessions: 3 })
      })
      expect(kinds).toEqual(Array(3).fill("session.deleted"))
      expect(await idsIn(caller)).toEqual(kept.toSorted())
      expect(await idsIn(other)).toEqual([elsewhere])
      const again = await context.other.signals.endProviderSession(caller, ended)
      expect(again).toEqual({ userId: undefined, revokedSessions: 0 })
    })

    test("deletes more than a hundred", async () => {
      const { caller } = await newCaller()
      await addSessions(context, caller.tenant, "u", 500)
      const set = "provider = 'idp', provider_session_id = 'sid'"
      await context.database.sql(`UPDATE sessions SET ${set} WHERE tenant = ?`, [caller.tenant])
      const ended = { provider: "idp", providerSessionId: "sid" }
      const answer = await once(context.store, { caller }, (store, one) => store.signals.endProviderSession(one, ended))
      expect(answer).toEqual({ userId: "u", revokedSessions: 500 })
      expect(await idsIn(caller)).toEqual([])
    })
  })

  describe("revokeAccount", () => {
    const stateOf = async (caller: Tenant, account: Account) => {
      const { access_token, refresh_token, id_token } = (await context.other.accounts.get(caller, account)) as Account
      const { refresh } = (await context.other.tokenRefreshes.get(caller, account)) ?? {}
      return { tokens: [access_token, refresh_token, id_token].filter(Boolean).join(""), refresh: refresh?.kind }
    }

    test.each([
      ["sessions, and a refresh token", { sessions: true, tokens: "online" }, "openid", "ai", "failed", 2],
      [
        "sessions; a refresh token for offline access stays",
        { sessions: true, tokens: "online" },
        "openid offline_access",
        "ari",
        "idle",
        2,
      ],
      ["sessions and all tokens", { sessions: true, tokens: "all" }, "openid offline_access", "", "failed", 2],
      ["sessions only", { sessions: true, tokens: "none" }, "openid", "ari", "idle", 2],
      ["tokens only", { sessions: false, tokens: "all" }, "openid", "", "failed", 0],
    ] as const)("drops %s", async (_, options, scope, left, refresh, revokedSessions) => {
      const { caller, account } = await newCaller({ scope })
      const elsewhere = await begin(caller, { provider: "other" })
      const here = [await begin(caller), await begin(caller)]
      const kinds = await since(caller, async () => {
        const answer = await context.store.signals.revokeAccount(caller, account, options)
        expect(answer).toEqual({ userId: "u", revokedSessions })
      })
      expect(kinds.toSorted()).toEqual([
        ...(left === "ari" ? [] : ["account.updated"]),
        ...(revokedSessions > 0 ? ["user.sessions_revoked"] : []),
      ])
      expect(await idsIn(caller)).toEqual([elsewhere, ...(revokedSessions > 0 ? [] : here)].toSorted())
      expect(await stateOf(caller, account)).toEqual({ tokens: left, refresh })
      await context.store.accounts.link(caller, { ...account, ...tokens })
      expect(await stateOf(caller, account)).toEqual({ tokens: "ari", refresh: "idle" })
    })

    test("null: nobody has the account", async () => {
      const { caller, account } = await newCaller()
      for (const key of [
        { ...account, providerAccountId: newId() },
        { ...account, provider: "Idp" },
      ])
        expect(await context.store.signals.revokeAccount(caller, key, allSessions)).toBeNull()
      expect(await context.store.signals.revokeAccount(anyone, account, allSessions)).toBeNull()
      expect(await stateOf(caller, account)).toMatchObject({ tokens: "ari" })
    })

    test("of 20 calls at the same time, on two stores and with one key, one has an effect", async () => {
      const { caller, account } = await newCaller()
      for (const _ of range(3)) await begin(caller)
      const key = newId()
      const kinds = await since(caller, async () => {
        const answers = await Promise.all(
          range(20).map((n) =>
            once(n % 2 ? context.store : context.other, { caller, key }, (store, one) =>
              store.signals.revokeAccount(one, account, allSessions),
            ),
          ),
        )
        expect(new Set(answers.map((answer) => JSON.stringify(answer)))).toEqual(
          new Set([JSON.stringify({ userId: "u", revokedSessions: 3 })]),
        )
      })
      expect(kinds.toSorted()).toEqual(["account.updated", "user.sessions_revoked"])
    })

    test("of a user with thousands of sessions: what an interrupted call has left is done by the next one with its key", async () => {
      const { caller, account } = await newCaller()
      await addSessions(context, caller.tenant, "u")
      await context.database.sql("UPDATE sessions SET provider = 'idp' WHERE tenant = ?", [caller.tenant])
      const count = (await idsIn(caller)).length
      const [key, interrupting] = [newId(), new AbortController()]
      const { signal } = interrupting
      const revoke = (one: Tenant & { signal?: AbortSignal }) =>
        once(context.store, { caller: one, key }, (store, each) =>
          store.signals.revokeAccount(each, account, allSessions),
        )
      const interrupted = revoke({ ...caller, signal })
      await until(async () => (await idsIn(caller)).length < count)
      interrupting.abort(new Error("interrupted"))
      await expect(interrupted).rejects.toThrow("interrupted")
      const left = (await idsIn(caller)).length
      expect(left).toBeGreaterThan(0)
      // The last transaction has the tokens, and the key of the call.
      expect(await stateOf(caller, account)).toMatchObject({ tokens: "ari" })
      const answer = (await revoke(caller)) as { revokedSessions: number }
      expect(answer).toMatchObject({ userId: "u" })
      // What the database was committing at the interruption is done, and is not counted again.
      expect(answer.revokedSessions).toBeGreaterThan(0)
      expect(answer.revokedSessions).toBeLessThanOrEqual(left)
      expect(await idsIn(caller)).toEqual([])
      expect(await stateOf(caller, account)).toEqual({ tokens: "ai", refresh: "failed" })
      expect(await revoke(caller)).toEqual(answer)
    })
  })

  describe("endTokens", () => {
    const origin = { userId: "u", provider: "idp", providerSessionId: "sid" }
    type Origin = { [Name in keyof typeof origin]: string | undefined } & { afterMs?: number }
    /** Whether a JWT of a sign-in, by default of now, has ended. */
    const isEnded = async (caller: Tenant, { afterMs = 0, ...one }: Origin) =>
      (await context.other.signals.holderOf(caller, { ...one, signedIn: context.clock.now + afterMs })).isEnded
    const rowsIn = async ({ tenant }: Tenant) =>
      (await context.database.sql("SELECT expires FROM ended_tokens WHERE tenant = ?", [tenant])).map(({ expires }) =>
        Number(expires),
      )

    test("of a session of the provider: ends the JWTs that come from it, also those that are renewed, and no others", async () => {
      const { caller } = await newCaller()
      await context.store.signals.endTokens(caller, { provider: "idp", providerSessionId: "sid" })
      const ended: Origin[] = [
        origin,
        { ...origin, afterMs: day },
        { ...origin, provider: undefined },
        { ...origin, userId: undefined },
        { ...origin, userId: "not stored" },
      ]
      for (const one of ended) expect([one, await isEnded(caller, one)]).toEqual([one, true])
      const valid: Origin[] = [
        { ...origin, providerSessionId: "Sid" },
        { ...origin, providerSessionId: undefined },
        { ...origin, provider: "Idp" },
        { userId: "sid", provider: "idp", providerSessionId: "u" },
      ]
      for (const one of valid) expect([one, await isEnded(caller, one)]).toEqual([one, false])
      const { caller: another } = await newCaller()
      expect(await isEnded(another, origin)).toBe(false)
    })

    test("of a user: ends the JWTs of earlier sign-ins at the provider, and no others", async () => {
      const { caller } = await newCaller()
      await context.store.users.create(caller, newUser({ id: "v" }))
      await context.store.signals.endTokens(caller, { provider: "idp", userId: "u" })
      const ended: Origin[] = [
        origin,
        { ...origin, afterMs: -day },
        { ...origin, afterMs: Number.NaN },
        { ...origin, provider: undefined },
        { ...origin, providerSessionId: undefined },
      ]
      for (const one of ended) expect([one, await isEnded(caller, one)]).toEqual([one, true])
      const valid: Origin[] = [
        { ...origin, afterMs: 1 },
        { ...origin, provider: undefined, afterMs: 1 },
        { ...origin, provider: "other" },
        { ...origin, userId: "v" },
      ]
      for (const one of valid) expect([one, await isEnded(caller, one)]).toEqual([one, false])
      // A later end moves the mark.
      context.clock.now += 1_000
      await context.other.signals.endTokens(caller, { provider: "idp", userId: "u" })
      expect(await isEnded(caller, origin)).toBe(true)
      expect(await rowsIn(caller)).toHaveLength(2)
      await context.store.users.delete(caller, "u")
      expect(await isEnded(caller, origin)).toBe(true)
    })

    test("holderOf returns the stored user", async () => {
      const { caller } = await newCaller()
      const { signals, users } = context.store
      const user = await users.disable(caller, "u", { reason: "why" })
      for (const _ of ["without marks", "with one"]) {
        const found = await context.other.signals.holderOf(caller, { ...origin, signedIn: Number.NaN })
        expect(found.user).toEqual({ ...user, revokedSessions: undefined })
        const nobody = { ...origin, providerSessionId: undefined, userId: "nobody", signedIn: Number.NaN }
        expect(await signals.holderOf(caller, nobody)).toEqual({ user: null, isEnded: false })
        await signals.endTokens(caller, { provider: "idp", userId: "u" })
      }
    })

    test("a disabled user that is deleted leaves the JWTs of the sign-ins before ended, and any other user does not", async () => {
      const { caller } = await newCaller()
      const { users } = context.store
      await users.create(caller, newUser({ id: "enabled" }))
      await users.disable(caller, "u", { reason: "why" })
      for (const id of ["u", "enabled"]) await users.delete(caller, id)
      const ofUser = { ...origin, providerSessionId: undefined }
      expect(await isEnded(caller, ofUser)).toBe(true)
      expect(await isEnded(caller, { ...ofUser, provider: undefined })).toBe(true)
      expect(await isEnded(caller, { ...ofUser, userId: "enabled" })).toBe(false)
      expect(await isEnded(caller, { ...ofUser, afterMs: 1 })).toBe(false)
      // Also if there is a user with the id again.
      await users.create(caller, newUser({ id: "u" }))
      expect(await isEnded(caller, ofUser)).toBe(true)
      await users.disable(caller, "u", { reason: "why" })
      await users.delete(caller, "u")
      expect(await rowsIn(caller)).toHaveLength(1)
    })

    test("50 calls at the same time, on two stores, leave one mark", async () => {
      const { caller } = await newCaller()
      const ended = { provider: "idp", providerSessionId: "sid" }
      await Promise.all(
        range(50).map((n) => {
          const { signals } = n % 2 ? context.store : context.other
          if (n < 25) return signals.endTokens(caller, ended)
          return once(context.store, { caller }, async (store, one) => {
            await store.signals.endTokens(one, ended)
            return null
          })
        }),
      )
      expect(await rowsIn(caller)).toHaveLength(2)
    })

    test.each([
      ["30 days", undefined, 30],
      ["30 days if the session policy allows less", 1, 30],
      ["what the session policy allows if that is more", 90, 90],
    ])("keeps a mark for %s, and the cleanup deletes it then", async (_, maxAge, days) => {
      const { caller } = await newCaller()
      const minute = 60_000
      await context.store.sessionPolicies.update(caller, { maxAge: maxAge === undefined ? null : maxAge * day })
      await context.store.signals.endTokens(caller, { provider: "idp", userId: "u" })
      const expires = context.clock.now + days * day + minute
      expect(await rowsIn(caller)).toEqual([expires, expires])
      const { deleteBatch } = expiredRows(context.store, "ended_tokens")
      const cleanBefore = async (before: number) => {
        const span = { from: new Date(expires - 1), before: new Date(before), limit: 100 }
        while ((await deleteBatch({}, span)) !== null);
      }
      await cleanBefore(expires)
      expect(await isEnded(caller, origin)).toBe(true)
      await cleanBefore(expires + 1)
      expect(await rowsIn(caller)).toEqual([])
      expect(await isEnded(caller, origin)).toBe(false)
    })
  })
}
