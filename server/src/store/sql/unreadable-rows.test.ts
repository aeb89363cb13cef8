import { databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import {
  anyone,
  createTenant,
  encryptionKeys,
  newAccount,
  newAuthenticator,
  newSession,
  newUser,
  range,
} from "@authwire/test-support/store-contract/context.js"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"
import {
  bulk,
  type Database,
  openDatabase,
  rekey,
  type SqlStore,
  sqlStore,
  Unreadable,
  type UnreadableRowEvent,
} from "./index.js"

const secret = "s3cret-value"

describe.each(databaseTargets())("rows that cannot be read, on %s", (target) => {
  let tables: TestDatabase
  let database: Database
  let store: SqlStore
  const skipped: UnreadableRowEvent[] = []
  beforeAll(async () => {
    tables = await createStoreDatabase(target)
    database = await openDatabase({ url: tables.url, onUnreadable: (event) => skipped.push(event) })
    store = sqlStore(database, { encryptionKeys })
  })
  afterAll(async () => {
    await database.close()
    await tables.drop()
  })
  beforeEach(() => {
    skipped.length = 0
  })
  const put = (table: string, column: string, id: string, value: string, key = "id") =>
    tables.query(`UPDATE ${table} SET ${column} = ? WHERE ${key} = ?`, [value, id])

  test.each([
    `{"${secret}`,
    `"${secret}"`,
    `["${secret}"]`,
    "null",
    "5",
    "",
    '{"a":[1e999]}',
    `{"a":1${"0".repeat(309)}}`,
    `{"a":1${"0".repeat(300)}e10}`,
    '{"a":"\\ud800"}',
    '{"\\udc00":1}',
    `{"a":${"[".repeat(32)}${"]".repeat(32)}}`,
  ])("a user with extra %j costs only itself", async (value) => {
    const { tenant } = await createTenant({ store })
    const users = []
    for (const n of range(20)) users.push(await store.users.create({ tenant }, newUser({ id: `${n}` })))
    // The last one of a statement, and the last one of a page.
    for (const id of ["3", "15"]) {
      await tables.query("UPDATE users SET extra = ? WHERE tenant = ? AND id = ?", [value, tenant, id])
    }
    const listed: string[] = []
    let token: string | undefined
    do {
      const page = await store.users.list({ tenant }, {}, { size: 4, token })
      listed.push(...page.items.map(({ id }) => id))
      token = page.nextToken
    } while (token !== undefined)
    expect(listed.toSorted()).toEqual(
      users
        .map(({ id }) => id)
        .filter((id) => id !== "3" && id !== "15")
        .toSorted(),
    )
    expect(skipped).toContainEqual({ table: "users", column: "extra", id: "3" })
    const error: Error = await store.users.get({ tenant }, "3").then(
      () => new Error("none"),
      (thrown) => thrown,
    )
    expect(error.message).toBe("extra of a row of users cannot be read: 3")
    expect(`${error.stack} ${error.cause}`).not.toContain(secret)
    expect(await store.users.get({ tenant }, "4")).toEqual(users[4])
  })

  test("a session, an account and an authenticator cost only themselves, in every list", async () => {
    const { id } = await store.users.create(anyone, newUser())
    const sessions = [
      await store.sessions.create(anyone, newSession(id, Date.now() + 1e6)),
      await store.sessions.create(anyone, newSession(id, Date.now() + 1e6)),
    ]
    const accounts = [
      await store.accounts.link(anyone, newAccount(id)),
      await store.accounts.link(anyone, newAccount(id)),
    ]
    const passkeys = [
      await store.authenticators.create(anyone, newAuthenticator(id)),
      await store.authenticators.create(anyone, newAuthenticator(id)),
    ]
    await put("sessions", "extra", sessions[0]?.id as string, `{"${secret}`)
    await put("accounts", "extra", accounts[0]?.providerAccountId as string, `{"${secret}`, "provider_account_id")
    await put("authenticators", "extra", passkeys[0]?.credentialID as string, `{"${secret}`, "credential_id")
    const page = { size: 10 }
    expect((await store.sessions.list(anyone, { userId: id }, page)).items).toMatchObject([{ id: sessions[1]?.id }])
    for (const tokens of [true, false]) {
      const { items } = await store.accounts.listByUser(anyone, id, page, { tokens })
      expect(items).toMatchObject([{ providerAccountId: accounts[1]?.providerAccountId }])
    }
    const rest = [{ credentialID: passkeys[1]?.credentialID }]
    expect(await store.authenticators.listByUserId(anyone, id)).toMatchObject(rest)
    expect((await store.authenticators.list(anyone, id, page)).items).toMatchObject(rest)
    const names = skipped.map(({ table }) => table)
    expect(names).toEqual(["sessions", "accounts", "accounts", "authenticators", "authenticators"])
    expect(skipped).toContainEqual({ table: "sessions", column: "extra", id: sessions[0]?.id })
    expect(skipped).toContainEqual({ table: "accounts", column: "extra", id })
    expect(await rekey(database, { encryptionKeys })).toMatchObject({ unreadable: 1 })
  })

  test.each([`{"${secret}`, "{}", "[1]", "[[]]", "[null]", '[{"a":1e999}]'])(
    "an account with the authorization_details %j costs only itself",
    async (value) => {
      const { id } = await store.users.create(anyone, newUser())
      const linked = range(3).map(() => newAccount(id, { authorization_details: [{ type: "all" }] }))
      for (const account of linked) await store.accounts.link(anyone, account)
      const [bad, none, good] = linked.map(({ providerAccountId }) => providerAccountId) as [string, string, string]
      await put("accounts", "authorization_details", bad, value, "provider_account_id")
      await put("accounts", "authorization_details", none, "null", "provider_account_id")
      const { items } = await store.accounts.listByUser(anyone, id, { size: 10 }, { tokens: true })
      expect(items.map((one) => [one.providerAccountId, one.authorization_details]).toSorted()).toEqual(
        [
          [good, [{ type: "all" }]],
          [none, undefined],
        ].toSorted(),
      )
      expect(skipped).toContainEqual({ table: "accounts", column: "authorization_details", id })
    },
  )

  test.each([`{"${secret}`, `"all"`, "{}", `[1]`, "null"])(
    "a key with the scopes %j is no key, and the others go on",
    async (scopes) => {
      const key = (id: string) => ({ id, name: "n", tenant: "default", scopes: ["all"], created: new Date() })
      const [bad, good] = [`bad${Math.random()}`, `good${Math.random()}`]
      for (const id of [bad, good]) await store.apiKeys.create({}, key(id))
      await put("api_keys", "scopes", bad, scopes)
      for (const keys of [await store.apiKeys.list({}), (await store.apiKeys.listValid({}, new Date())).keys]) {
        const ids = keys.map(({ id }) => id)
        expect(ids).toContain(good)
        expect(ids).not.toContain(bad)
      }
      expect(skipped).toContainEqual({ table: "api_keys", column: "scopes", id: bad })
      expect(await store.apiKeys.get({}, bad)).toBeNull()
    },
  )

  test("JSON that is nested as deep as a call may write it is read, also beside many brackets", async () => {
    const { id } = await store.users.create(anyone, newUser())
    const extra = { brackets: range(40).map(() => [{}]), deep: JSON.parse(`${"[".repeat(31)}${"]".repeat(31)}`) }
    await put("users", "extra", id, JSON.stringify(extra))
    expect((await store.users.get(anyone, id))?.extra).toEqual(extra)
  })

  /** Values that no answer can carry, by the kind of their column. Each is an expression. */
  const values = {
    sqlite: {
      text: ["X'61ff'"],
      time: ["5", "9e999", "'soon'", "''", "X'61'", "'99999-01-01 00:00:00'", "'0999-12-31 23:59:59.999'"],
      count: ["-1", "5.5", "5000000000", "'many'", "X'35'"],
      number: ["9e999", "-9e999", "'many'", "X'35'"],
    },
    postgres: {
      text: [],
      time: ["'infinity'", "'-infinity'", "'12000-01-01'", "'0999-12-31'", "'0044-03-15 BC'"],
      count: ["-1", "5000000000"],
      number: ["'Infinity'", "'-Infinity'", "'NaN'"],
    },
    mysql: { text: [], time: ["'0999-12-31'"], count: [], number: [] },
    mariadb: { text: [], time: ["'0999-12-31'"], count: [], number: [] },
  }[target]
  const columns = {
    text: ["users name", "users email", "sessions user_agent", "accounts scope", "authenticators transports"],
    time: [
      ...["users email_verified", "users created", "users updated", "users disabled", "sessions expires"],
      ...["sessions last_seen", "sessions created", "accounts updated", "authenticators created"],
    ],
    count: ["authenticators counter"],
    number: ["accounts expires_in", "accounts expires_at"],
  }
  const cases = (["text", "time", "count", "number"] as const).flatMap((kind) =>
    columns[kind].flatMap((place) => values[kind].map((value) => [place, value] as const)),
  )
  test.each(cases)("%s with %s costs only its row", async (place, value) => {
    const [table, column] = place.split(" ") as ["users" | "sessions" | "accounts" | "authenticators", string]
    const { tenant } = await createTenant({ store })
    const caller = { tenant }
    const page = { size: 10 }
    const [{ id }, other] = [await store.users.create(caller, newUser()), await store.users.create(caller, newUser())]
    const rowsOf = {
      users: async () => [id, other.id],
      async sessions() {
        const made = range(2).map(() => store.sessions.create(caller, newSession(id, Date.now() + 1e6)))
        return (await Promise.all(made)).map((one) => one.id)
      },
      async accounts() {
        const made = range(2).map(() => store.accounts.link(caller, newAccount(id)))
        return (await Promise.all(made)).map((one) => one.providerAccountId)
      },
      async authenticators() {
        const made = range(2).map(() => store.authenticators.create(caller, newAuthenticator(id)))
        return (await Promise.all(made)).map((one) => one.credentialID)
      },
    }
    const lists = {
      users: async () => (await store.users.list(caller, {}, page)).items.map((one) => one.id),
      sessions: async () => (await store.sessions.list(caller, { userId: id }, page)).items.map((one) => one.id),
      accounts: async () =>
        (await store.accounts.listByUser(caller, id, page, { tokens: true })).items.map((one) => one.providerAccountId),
      authenticators: async () =>
        (await store.authenticators.list(caller, id, page)).items.map((one) => one.credentialID),
    }
    const [bad, good] = await rowsOf[table]()
    expect(await lists[table]()).toHaveLength(2)
    const key = { users: "id", sessions: "id", accounts: "provider_account_id", authenticators: "credential_id" }[table]
    await tables.query(`UPDATE ${table} SET ${column} = ${value} WHERE tenant = ? AND ${key} = ?`, [tenant, bad])
    expect(await lists[table]()).toEqual([good])
    for await (const rows of bulk(database, { tenant, encryptionKeys })[table].pagesWithUnreadable()) {
      const problems = (rows as unknown[]).flatMap((row) => (row instanceof Unreadable ? row.problem : []))
      expect([rows.length, problems]).toEqual([2, [expect.stringMatching(`^${column} must be `)]])
    }
  })

  // The servers accept only text and times in these columns.
  if (target === "sqlite") {
    test.each([
      ["is not UTF-8", "CAST(X'61FF62' AS TEXT)", "a\ufffdb"],
      ["has U+0000", "CAST(X'610062' AS TEXT)", "a\u0000b"],
    ])("a text of another program that %s does not end the process, and others are read", async (_, value, name) => {
      const users = [await store.users.create(anyone, newUser()), await store.users.create(anyone, newUser())] as const
      await tables.query(`UPDATE users SET name = ${value} WHERE id = ?`, [users[0].id])
      const found = await Promise.all(users.map(({ id }) => store.users.get(anyone, id)))
      expect(found.map((user) => String(user?.name))).toEqual([name, String(users[1].name)])
    })

    test("an event whose time is none does not stop the readers of events, and is deleted with those before it", async () => {
      const withEvents = sqlStore(database, { encryptionKeys, eventsKeepMs: 60_000 })
      await tables.query("DELETE FROM events")
      const ids = []
      for (const _ of range(3)) ids.push((await withEvents.users.create(anyone, newUser())).id)
      const { last } = await withEvents.events.sequence(anyone)
      await tables.query("UPDATE events SET created = 'soon' WHERE user_id IN (?, ?)", [ids[0], ids[1]])
      const read = (after: number, limit: number) => withEvents.events.read(anyone, { after, limit })
      expect(await read(last - 3, 2)).toMatchObject([{ sequence: last, userId: ids[2] }])
      expect(await read(last, 2)).toEqual([])
      await tables.query("UPDATE events SET created = '2020-01-01 00:00:00.000' WHERE user_id = ?", [ids[2]])
      const events = withEvents.expired.tables.find(({ table }) => table === "events")
      const before = new Date()
      let deleted = await events?.deleteBatch({}, { from: new Date(0), before, limit: 10 })
      while (deleted?.count === 0) deleted = await events?.deleteBatch({}, { from: new Date(0), before, limit: 10 })
      expect(deleted).toEqual({ count: 3, first: before, last: new Date("2020-01-01T00:00:00Z") })
    })
  }
})
