import { createDatabase, databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { type Database, openDatabase } from "../index.js"
import { type Change, joined, statement } from "./statement.js"

describe.each(databaseTargets())("statements on %s", (target) => {
  let empty: TestDatabase
  let database: Database
  beforeAll(async () => {
    empty = await createDatabase(target)
    database = await openDatabase({ url: empty.url })
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  /** The text with the quotes of the engine in place of double quotes. */
  const quoted = (sql: string) => (target === "mysql" || target === "mariadb" ? sql.replaceAll('"', "`") : sql)
  /** A numbered parameter as the engine writes it. */
  const parameter = (number: number) => (target === "postgres" ? `$${number}` : "?")
  const keptAsText = target === "sqlite" || target === "postgres"

  test("name columns where the builder names properties; a parameter may be used twice", () => {
    const { accounts } = database.tables
    const builder = accounts
      .selectFrom("a")
      .select("a.userId")
      .where("a.providerAccountId > :providerAccountId AND (a.tenant = :tenant OR a.provider = :tenant)")
    const { sql, cells } = statement(builder, {
      tenant: (values: { own: string; id: number }) => values.own,
      providerAccountId: (values) => values.id,
    })
    const [first, second, third] = [parameter(1), parameter(2), parameter(target === "postgres" ? 2 : 3)]
    const condition = `"a"."provider_account_id" > ${first} AND ("a"."tenant" = ${second} OR "a"."provider" = ${third})`
    expect(sql).toContain(quoted(condition))
    expect(cells({ own: "t", id: 7 })).toEqual(target === "postgres" ? [7, "t"] : [7, "t", "t"])
  })

  test("rows that are inserted together: referenced rows first, then events, then keys, at most 16 in a statement", () => {
    const { users, accounts, sessions, events, idempotencyKeys } = database.tables
    const created = new Date(0)
    const tenant = "t"
    const rows = {
      user: users.insertion({ tenant, id: "u", extra: {}, created, updated: created }),
      account: accounts.insertion({
        ...{ tenant, userId: "u", provider: "p", providerAccountId: "a", type: "oauth", extra: {} },
        ...{ created, updated: created },
      }),
      session: sessions.insertion({
        tenant,
        tokenHash: Buffer.alloc(32),
        userId: "u",
        expires: created,
        extra: {},
        created,
      }),
      event: events.insertion({ tenant, kind: "user.created", created }),
      key: idempotencyKeys.insertion({ tenant, keyHash: Buffer.alloc(32), answer: "", created }),
    }
    const { user, account, session, event, key } = rows
    const tablesOf = (some: Change[]) =>
      joined(some).map(({ sql, cells }) => [/INTO\W+(\w+)/.exec(sql)?.[1], cells.length])
    const own = (row: Change) => row.cells.length
    expect(tablesOf([event, key, session, event, account, event, key, user, event, key])).toEqual([
      ["users", own(user)],
      ["accounts", own(account)],
      ["sessions", own(session)],
      ["events", 4 * own(event)],
      ["idempotency_keys", 3 * own(key)],
    ])
    expect(tablesOf(Array.from({ length: 40 }, () => event))).toEqual([
      ["events", 16 * own(event)],
      ["events", 16 * own(event)],
      ["events", 8 * own(event)],
    ])
  })

  test("changes of one kind are one statement for all rows; the ones that must match are counted", () => {
    const { users, sessions } = database.tables
    const [cleared, deleted] = [users.erasure("provisionalUntil"), sessions.deletionIfUnchanged()]
    const read = { tenant: "t", tokenHash: Buffer.alloc(32), userId: "u", expires: new Date(0), extra: {}, id: "I" }
    const cells = sessions.insert.cells({ ...read, created: new Date(0) })
    const ofSession = deleted({ tenant: "t", tokenHash: Buffer.alloc(32, 2), cells })
    const ofUser = (id: string) => cleared({ tenant: "t", id })
    const [first, second] = joined([ofSession, ofUser("a"), ofSession, ofUser("b")])
    const isUser = (n: number) =>
      `("tenant" = ${parameter(n)} AND "id" = ${parameter(n + 1)} AND "provisional_until" IS NOT NULL)`
    expect(first).toEqual({
      sql: quoted(`UPDATE "users" SET "provisional_until" = NULL WHERE ${isUser(1)} OR ${isUser(3)}`),
      cells: [...ofUser("a").cells, ...ofUser("b").cells],
      least: 0,
    })
    expect(second?.sql).toMatch(/^DELETE FROM .*\) OR \(/)
    expect(second).toMatchObject({ cells: [...ofSession.cells, ...ofSession.cells], least: 2 })
    expect(joined([ofSession])).toEqual([{ sql: ofSession.sql, cells: ofSession.cells, least: 1 }])
  })

  test("throw when they are built, for a parameter that has no value, and a value that has no parameter", () => {
    const { users } = database.tables
    const builder = () => users.selectFrom("u").where("u.id = :id")
    expect(() => statement(builder(), {})).toThrow(/parameter :id does not fit/)
    expect(() => statement(builder(), { id: () => "", name: () => "" })).toThrow("parameter name does not fit")
    expect(() => users.statement(users.deleteFrom().where("emailkey = :emailkey"), "emailkey" as "emailKey")).toThrow(
      "User has no column emailkey",
    )
  })

  test("delete what was read only from tables that hold no nulls", () => {
    const { sessions, users } = database.tables
    expect(sessions.deletionIfUnchanged()({ tenant: "t", tokenHash: Buffer.of(1), cells: [2, 3, 4] }).cells).toEqual([
      keptAsText ? "t" : Buffer.from("t"),
      Buffer.of(1),
      ...[2, 3, 4],
    ])
    expect(() => users.deletionIfUnchanged()).toThrow(TypeError)
  })
})
