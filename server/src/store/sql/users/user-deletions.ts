import type { ObjectLiteral } from "typeorm"
import { oncePer } from "../../../util/once-per.js"
import type { Caller, ExpiredRows, UserStore } from "../../store.js"
import { firstTime, lastTime } from "../../times.js"
import type { Database } from "../database.js"
import { endingWithUser } from "../ended-tokens.js"
import type { EventOf } from "../events/event-rows.js"
import { type Cell, type Statements, statement } from "../query/statement.js"
import { deleteByKeys } from "../schema/delete-by-keys.js"
import { tenantNotFound } from "../schema/present-tenants.js"
import { ofPresentUser } from "../schema/present-users.js"
import type { UserRow, VerificationTokenRow } from "../schema/rows.js"
import type { Table } from "../schema/table.js"
import { along, alongIndex } from "../walks/along.js"
import { type AnyWalk, walks } from "../walks/walks.js"
import { emailKey } from "./text-keys.js"
import type { UserReader } from "./user-reader.js"

/** With more rows in one table, a user is marked, and its rows are deleted in batches by the cleanup. */
const rowsAtOnce = 100

/** Creates the deletion of users. */
export function userDeletion(
  database: Database,
  { clock, reader, eventOf }: { clock: () => number; reader: UserReader; eventOf: EventOf },
): UserStore["delete"] {
  const { users, accounts, sessions, authenticators } = database.tables
  const tables = [sessions, accounts, authenticators]
  const isOfUser = "tenant = :tenant AND userId = :userId"
  const deletions = [
    sessions.statement(sessions.deleteFrom().where(isOfUser), "tenant", "userId"),
    accounts.statement(accounts.deleteFrom().where(isOfUser), "tenant", "userId"),
    authenticators.statement(authenticators.deleteFrom().where(isOfUser), "tenant", "userId"),
  ]
  const rowBeyond = ({ name }: { name: string }) =>
    `(SELECT 1 FROM ${name} o WHERE o.tenant = :tenant AND o.user_id = :id LIMIT 1 OFFSET ${rowsAtOnce})`
  /** Selects the user if it has many rows. Reads no more of them than are deleted at once. */
  const withManyRows = users.statement(
    users
      .selectFrom("u")
      .select("u.id")
      .where(`${users.keyIs("u")} AND COALESCE(${tables.map(rowBeyond).join(", ")}) IS NOT NULL`),
    ...users.key,
  )
  const mark = users.statement(
    users.updateOf("deleted", "emailKey").where(users.keyIs()),
    ...users.key,
    "deleted",
    "emailKey",
  )

  const deleteLinks = linksTo(database)
  const endTokens = endingWithUser(database, { clock })

  return (caller: Caller, id: string) => {
    const key = { tenant: caller.tenant, id }
    const deletion = database.write(caller, [users.nameOf(key)], async (sql) => {
      // The lock prevents other transactions from adding a session, account or authenticator, because such an
      // insert needs a shared lock on this row for its foreign key.
      const user = reader.first(await sql.read(reader.byKeyForUpdate, key))
      if (user === null) return null
      if (user.disabled !== undefined) await endTokens(sql, caller.tenant, id)
      await deleteLinks(sql, caller.tenant, user.email)
      const event = eventOf(caller, "user.deleted", { userId: id })
      if ((await sql.read(withManyRows, key)).length > 0) {
        await sql.write(mark, { ...key, deleted: new Date(clock()), emailKey: undefined }, event)
        return user
      }
      for (const deleteRows of deletions) await sql.write(deleteRows, { tenant: key.tenant, userId: id })
      await sql.write(users.delete, key, event)
      return user
    })
    return deletion.catch((error) => {
      throw tenantNotFound(error)
    })
  }
}

/**
 * Creates a function that deletes the verification tokens of an address, as it was given or in lower case. Anybody can have
 * links sent to an address, so their number has no bound: those beyond 10,000 are left to the cleanup.
 */
function linksTo({ tables: { verificationTokens } }: Database) {
  interface Wanted {
    tenant: string
    email: string
  }
  const select = statement<VerificationTokenRow, Wanted>(
    verificationTokens
      .selectFrom("v")
      .select(verificationTokens.key.map((property) => `v.${property}`).join(", "))
      .where("v.tenant = :tenant AND v.identifier IN (:email, :emailKey)")
      .limit(rowsAtOnce),
    {
      tenant: ({ tenant }) => verificationTokens.cell("tenant", tenant),
      email: ({ email }) => verificationTokens.cell("identifier", email),
      emailKey: ({ email }) => verificationTokens.cell("identifier", emailKey(email) ?? email),
    },
  )
  const deleteRows = deleteByKeys(verificationTokens)
  return async (sql: Statements, tenant: string, email: string | undefined): Promise<void> => {
    if (email === undefined) return
    for (let batch = 0; batch < 10; batch++) {
      const rows = await sql.read(select, { tenant, email })
      await deleteRows(sql, rows)
      if (rows.length < rowsAtOnce) return
    }
  }
}

/**
 * Creates the deletion of what marked users have left. Their rows count, whatever time the mark has. A batch may end in
 * the middle of a user. The user's own row is the last one.
 */
export function deletedUsers(database: Database): ExpiredRows {
  const { users } = database.tables
  const ofUsers = [walks.sessionsOfUser, walks.accountsOfUser, walks.authenticatorsOfUser].map((walk) =>
    rowsOfUser(database, walk),
  )
  /** Selects the user that was marked first, unless another transaction has locked it. */
  const next = along(database, walks.usersBeingDeleted, {
    ...{ alias: "u", select: "u.tenant, u.id, u.deleted", from: ["deleted"], withDeleted: true, limit: 1 },
    ifLocked: "skip",
  })

  /** Deletes at most `limit` rows of one user. Returns null if there is none, otherwise their number and the mark. */
  const deleteSome = async (sql: Statements, limit: number, atMost: number) => {
    const [cells] = await sql.read(next, { from: { deleted: firstTime } })
    if (cells === undefined) return null
    const [tenant, id, deleted] = cells as [Cell, Cell, Cell]
    const user = { tenant: users.value("tenant", tenant), id: users.value("id", id) }
    // Other users wait behind one whose time cannot be read, so it is deleted too.
    const [time = lastTime] = users.readable([[deleted]], ([cell]) => users.value("deleted", cell as Cell) as Date)
    let count = 0
    for (const deleteRows of ofUsers) {
      count += await deleteRows(sql, user, limit, atMost - count)
      if (count === atMost) return { count, time }
    }
    // Rows cannot be added, because their foreign keys need the user's row, which is locked.
    await sql.write(users.delete, user)
    return { count: count + 1, time }
  }

  return {
    table: users.name,
    keepMs: 0,
    async deleteBatch(waiter, { limit }) {
      let count = 0
      let first: Date | undefined
      let last = firstTime
      while (count < limit) {
        const deleted = await database.write(waiter, [], (sql) => deleteSome(sql, limit, limit - count))
        if (deleted === null) break
        count += deleted.count
        last = deleted.time
        first ??= last
      }
      return first === undefined ? null : { count, first, last }
    },
  }
}

/** Creates a function that deletes rows of a user, at most `atMost`, which is at most `limit`. Returns their number. */
function rowsOfUser(database: Database, walk: AnyWalk) {
  const table = database.tables[walk.table] as unknown as Table<ObjectLiteral, string>
  const select = table.key.map((property) => `t.${property}`).join(", ")
  const selectOf = oncePer((limit: number) => alongIndex(database, table, walk, { alias: "t", select, limit }))
  const deleteRows = deleteByKeys(table)
  return async (sql: Statements, { tenant, id }: Pick<UserRow, "tenant" | "id">, limit: number, atMost: number) => {
    const rows = (await sql.read(selectOf(limit), { of: { tenant, userId: id } })).slice(0, atMost)
    await deleteRows(sql, rows)
    return rows.length
  }
}

/**
 * Creates a function that deletes the row with a key if it belongs to a user that is being deleted. Returns whether it
 * did. Called when the key is taken, because such a row exists for no call.
 */
export function leftRows<Row extends ObjectLiteral & { tenant: string }, Key extends keyof Row & string>(
  database: Database,
  table: Table<Row, Key>,
) {
  const isLeft = `NOT (${ofPresentUser(":tenant", `${table.name}.user_id`)})`
  const deletion = table.statement(table.deleteFrom().where(`${table.keyIs()} AND ${isLeft}`), ...table.key)
  return async (caller: Caller, key: Pick<Row, Key>): Promise<boolean> =>
    (await database.write(caller, [table.nameOf(key)], (sql) => sql.write(deletion, key))) > 0
}
