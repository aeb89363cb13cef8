import {
  createUsers,
  hashOf,
  numbersTo,
  openPlanned,
  type PlannedDatabase,
  plannedTargets,
} from "@authwire/test-support/databases/planned-database.js"
import type { Access, Ran } from "@authwire/test-support/databases/plans.js"
import {
  anyone,
  encryptionKeys,
  newAccount,
  newSession,
  newUser,
  range,
} from "@authwire/test-support/store-contract/context.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import type { Store } from "../../store.js"
import type { Account, Authenticator, Session, User } from "../../types.js"
import { sqlStore } from "../index.js"

describe.each(plannedTargets())("plans on %s", (target) => {
  let planned: PlannedDatabase
  let user: User
  let account: Account
  let session: Session
  let authenticator: Authenticator
  beforeAll(async () => {
    planned = await openPlanned(target)
    ;({ user, account, session, authenticator } = await createUsers(planned.recordingStore()))
    if (target === "postgres") await planned.fill("default")
  })
  afterAll(() => planned.close())

  test("S-24: no value is a part of a statement's text", async () => {
    planned.recorded.length = 0
    const store = planned.recordingStore()
    const value = "mark' ; --"
    const id = value
    const email = `${value}@example.com`
    const extra = { [value]: value }
    await store.users.create(anyone, newUser({ id, name: value, email, image: value, extra }))
    await store.users.update(anyone, id, { name: `${value} 2`, extra })
    await store.users.getByEmail(anyone, email)
    await store.users.list(anyone, { email }, { size: 5 })
    const tokens = { provider: value, providerAccountId: value, access_token: value }
    await store.accounts.link(anyone, newAccount(id, tokens))
    await store.sessions.create(anyone, newSession(id, Date.now(), { sessionToken: value, extra }))
    await store.sessions.list(anyone, { userId: id, provider: value }, { size: 5 })
    const link = { identifier: value, token: value, expires: new Date() }
    await store.verificationTokens.create(anyone, link)
    expect(await store.verificationTokens.use(anyone, link)).toEqual(link)
    await store.users.delete(anyone, id)
    expect(planned.recorded.filter(([, cells]) => String(cells).includes("mark")).length).toBeGreaterThan(9)
    expect(planned.recorded.filter(([sql]) => sql.includes("mark'"))).toEqual([])
  })

  /** Returns accesses in the order of their tables. PostgreSQL numbers aliases that occur several times. */
  const byTable = (accesses: Access[]) =>
    accesses
      .map((one) => ({ ...one, table: String(one.table).replace(/_\d+$/, "") }))
      .toSorted((one, other) => (String(one.table) < String(other.table) ? -1 : 1))

  /** The accesses to the rows of the tenant's policy and of the session's provider, in the columns. */
  const ofPolicies: Access[] = range(4).map(() => ({
    table: "o",
    type: expect.stringMatching(/^(eq_ref|const)$/),
    key: "PRIMARY",
  }))

  /** The access to the mark of a user that is being deleted, by which rows of the user are left out. */
  const mark: Access = { table: "o", type: expect.stringMatching(/^(eq_ref|const)$/), key: "PRIMARY" }

  test.each<[string, (store: Store) => Promise<unknown>, Access[]]>([
    ["users.get", (store) => store.users.get(anyone, user.id), [{ table: "u", type: "const", key: "PRIMARY" }]],
    [
      "users.getWithTimes",
      (store) => store.users.getWithTimes(anyone, user.id),
      [{ table: "u", type: "const", key: "PRIMARY" }],
    ],
    [
      "users.getPrivateExtra",
      (store) => store.users.getPrivateExtra(anyone, user.id),
      [{ table: "u", type: "const", key: "PRIMARY" }],
    ],
    [
      "users.getByEmail",
      (store) => store.users.getByEmail(anyone, user.email as string),
      [{ table: "u", type: "const", key: "users_email_key" }],
    ],
    [
      "users.getByAccount",
      (store) => store.users.getByAccount(anyone, account),
      [
        { table: "a", type: "const", key: "PRIMARY" },
        { table: "u", type: "const", key: "PRIMARY" },
      ],
    ],
    [
      "sessions.getWithUser",
      (store) => store.sessions.getWithUser(anyone, session.sessionToken),
      [...ofPolicies, { table: "s", type: "const", key: "PRIMARY" }, { table: "u", type: "const", key: "PRIMARY" }],
    ],
    [
      "sessions.access, not due",
      (store) => store.sessions.access(anyone, session.sessionToken, { maxAge: 86_400_000, updateAge: 3_600_000 }),
      [...ofPolicies, { table: "s", type: "const", key: "PRIMARY" }, { table: "u", type: "const", key: "PRIMARY" }],
    ],
    [
      "accounts.get",
      (store) => store.accounts.get(anyone, account),
      [{ table: "a", type: "const", key: "PRIMARY" }, mark],
    ],
    [
      "tokenRefreshes.get with an account id",
      (store) => store.tokenRefreshes.get(anyone, account),
      [
        { table: "a", type: "const", key: "PRIMARY" },
        { table: "u", type: "const", key: "PRIMARY" },
      ],
    ],
    [
      "authenticators.get",
      (store) => store.authenticators.get(anyone, authenticator.credentialID),
      [{ table: "a", type: "const", key: "PRIMARY" }, mark],
    ],
  ])("%s is one statement that reads one row by a unique index", async (_, call, plan) => {
    planned.recorded.length = 0
    expect(await call(planned.recordingStore())).not.toBeNull()
    expect(planned.recorded).toHaveLength(1)
    expect(byTable(await planned.plans.of(planned.recorded[0] as Ran))).toEqual(plan)
  })

  const severalRows = target === "sqlite" ? "const" : "range"
  describe("signals.holderOf", () => {
    const marks = { table: "e", type: expect.stringMatching(/^(ref|const)$/), key: "ended_tokens_tenant" }
    const ofUser = { table: "u", type: "const", key: "PRIMARY" }
    beforeAll(async () => {
      const time = "'2030-01-01 00:00:00.000'"
      await planned.tables.query(`INSERT INTO ended_tokens (tenant, key_hash, ended, expires)
        SELECT 'many', ${hashOf(target, "CONCAT('', n)")}, ${time}, ${time} FROM ${numbersTo(4_000)}`)
      await planned.analyze("ended_tokens")
    })

    test.each([
      ["many", [[marks, ofUser], [{ table: "e", type: severalRows, key: "PRIMARY" }]]],
      ["more", [[marks, ofUser]]],
    ])("in the tenant %s, of which many has marks, finds its rows by indexes", async (tenant, plans) => {
      const store = planned.recordingStore()
      await store.users.create({ tenant }, newUser({ id: user.id }))
      planned.recorded.length = 0
      const origin = { userId: user.id, provider: "p", providerSessionId: "sid", signedIn: 0 }
      expect((await store.signals.holderOf({ tenant }, origin)).user?.id).toBe(user.id)
      expect(planned.recorded).toHaveLength(plans.length)
      for (const [n, plan] of plans.entries()) {
        expect(byTable(await planned.plans.of(planned.recorded[n] as Ran))).toEqual(plan)
        // The user and a mark, or the three marks that the user may have.
        expect((await planned.plans.rowsExamined(planned.recorded[n] as Ran)) ?? 0).toBeLessThanOrEqual(3)
      }
    })
  })

  interface Given {
    user: User
    account: Account
    session: Session
  }
  test.each<[string, (store: Store, given: Given) => Promise<unknown>, Access[]]>([
    [
      "users.get",
      (store, given) => store.users.get(anyone, given.user.id),
      [{ table: "u", type: severalRows, key: "PRIMARY" }],
    ],
    [
      "users.getByEmail",
      (store, given) => store.users.getByEmail(anyone, given.user.email as string),
      [{ table: "u", type: severalRows, key: "users_email_key" }],
    ],
    [
      "users.getByAccount",
      (store, given) => store.users.getByAccount(anyone, given.account),
      [
        { table: "a", type: severalRows, key: "PRIMARY" },
        { table: "u", type: expect.stringMatching(/^(eq_ref|const)$/), key: "PRIMARY" },
      ],
    ],
    [
      "sessions.getWithUser",
      async (store, given) => (await store.sessions.getWithUser(anyone, given.session.sessionToken))?.user ?? null,
      [
        ...ofPolicies,
        { table: "s", type: severalRows, key: "PRIMARY" },
        { table: "u", type: expect.stringMatching(/^(eq_ref|const)$/), key: "PRIMARY" },
      ],
    ],
  ])("%s together are one statement that reads a row for each by unique indexes", async (name, call, plan) => {
    const stored = sqlStore(planned.database, { encryptionKeys })
    const given: Given[] = []
    for (const index of range(7)) {
      const one = newUser({ email: `${crypto.randomUUID()}@example.com` })
      const each = { user: one, account: newAccount(one.id), session: newSession(one.id, Date.now() + 86_400_000) }
      given.push(each)
      // Every other user does not exist.
      if (index % 2 === 1) continue
      await stored.users.create(anyone, one)
      await stored.accounts.link(anyone, each.account)
      await stored.sessions.create(anyone, each.session)
    }
    planned.recorded.length = 0
    const store = planned.recordingStore()
    const found = await Promise.all(given.map((each) => call(store, each)))
    expect(found).toEqual(given.map((each, index) => (index % 2 === 1 ? null : each.user)))
    // SQLite does not use an index for a list of keys of several columns.
    const isShared = target !== "sqlite" || name !== "users.getByAccount"
    expect(planned.recorded).toHaveLength(isShared ? 1 : given.length)
    for (const one of planned.recorded) expect(byTable(await planned.plans.of(one))).toEqual(plan)
  })

  test("sessions.access with an extension runs one more statement, which finds its row by the key, and then reads again", async () => {
    planned.recorded.length = 0
    const extension = { maxAge: 2 * 86_400_000, updateAge: 3_600_000 }
    expect(await planned.recordingStore().sessions.access(anyone, session.sessionToken, extension)).toMatchObject({
      extended: true,
    })
    expect(planned.recorded).toHaveLength(3)
    expect(planned.recorded[2]).toEqual(planned.recorded[0])
    const update = planned.recorded[1] as Ran
    expect(update[0]).toMatch(/^UPDATE/)
    for (const { key } of await planned.plans.of(update)) expect(key).toBe("PRIMARY")
  })
})
