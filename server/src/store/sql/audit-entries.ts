import type { AuditStore, Caller } from "../store.js"
import { firstTime, lastTime } from "../times.js"
import type { AuditEntry, AuditFilter } from "../types.js"
import type { Database } from "./database.js"
import { readList, rowsPerStatement } from "./query/page.js"
import type { PageTokens } from "./query/page-tokens.js"
import { type Change, type Statement, statement } from "./query/statement.js"
import type { AuditRow } from "./schema/rows.js"
import type { GroupTransaction } from "./transaction/group-commit.js"
import { againIfUnprepared } from "./transaction/unprepared.js"

/** The column that a list selects by; undefined: only the tenant. */
type By = "subject" | "keyId" | "method" | undefined

/** What one statement reads: the entries before a position, the newest first. */
interface Range {
  tenant: string
  by: string
  since: Date
  after: Position
}

/** A position in the order of a list. */
type Position = [created: string, id: number]

const indexes = {
  subject: "audit_entries_subject",
  keyId: "audit_entries_key",
  method: "audit_entries_method",
} as const

export function auditStore(database: Database, tokens: PageTokens): AuditStore {
  const { auditEntries } = database.tables
  const isPostgres = database.engine === "postgres"

  // The conditions have the forms that those of the lists of sessions have, for the same reasons: PostgreSQL compares whole
  // rows, and MariaDB a range instead of an equality.
  const followingOf = (by: By): Statement<Range> => {
    const isMariaDb = database.engine === "mariadb"
    const isOf = (column: string, value: string) => {
      if (isMariaDb) return `a.${column} >= ${value} AND a.${column} <= ${value}`
      // SQLite would read all entries of the tenant and a time.
      return database.engine === "sqlite" && column === by
        ? `unlikely(a.${column} = ${value})`
        : `a.${column} = ${value}`
    }
    const [column, value] = by === undefined ? ["tenant", ":tenant"] : [by, ":by"]
    const isOfTenant = by === undefined ? "" : `${isOf("tenant", ":tenant")} AND `
    const where = isPostgres
      ? `(a.${column}, a.created, a.id) < (${value}, :created, :id) AND (a.${column}, a.created) >= (${value}, :since)`
      : `${isOf(column, value)} AND a.created >= :since${isMariaDb ? " AND a.created <= :created" : ""}` +
        " AND (a.created, a.id) < (:created, :id)" +
        " AND (a.created < :created OR (a.created = :created AND a.id < :id))"
    const select = auditEntries
      .selectFrom("a")
      .useIndex(by === undefined ? "audit_entries_tenant" : indexes[by])
      .where(isOfTenant + where)
      .limit(rowsPerStatement)
    for (const each of new Set(["tenant", column, "created", "id"])) select.addOrderBy(`a.${each}`, "DESC")
    return statement<AuditRow, Range>(select, {
      tenant: ({ tenant }) => auditEntries.cell("tenant", tenant),
      created: ({ after: [created] }) => auditEntries.cell("created", new Date(created)),
      id: ({ after: [, id] }) => auditEntries.cell("id", id),
      since: ({ since }) => auditEntries.cell("created", since),
      ...(by !== undefined && { by: ({ by: value }: Range) => auditEntries.cell(by, value) }),
    })
  }
  const followings = new Map(
    ([undefined, "subject", "keyId", "method"] as const).map((by) => [by as By, followingOf(by)]),
  )

  const insertsOf = ({ tenant }: Caller, entries: readonly AuditEntry[]): Change[] =>
    entries.map(({ created, method, keyId, subject, ...details }) =>
      auditEntries.insertion({ tenant, created, method, keyId, subject, details }),
    )

  return {
    async add(caller, entries) {
      await database.write(caller, [], (sql) => sql.change(insertsOf(caller, entries)))
    },

    together(caller, work) {
      const inTransaction = async (transaction: GroupTransaction) => {
        const { result, entries } = await work(transaction)
        for (const insert of insertsOf(caller, entries)) await transaction.changeAtCommit(insert)
        return result
      }
      return againIfUnprepared(caller, () => database.write(caller, [], inTransaction))
    },

    async list(caller, filter, page) {
      const { tenant } = caller
      const { by, value } = selectionOf(filter)
      const range = { tenant, by: value, since: filter.since ?? firstTime }
      const sql = database.reads(caller)
      return readList<AuditEntry, Position>(page, {
        tokens,
        name: ["audit entries", tenant, JSON.stringify(filter)],
        first: [(filter.before ?? lastTime).toISOString(), 0],
        read: (after) => sql.read(followings.get(by) as Statement<Range>, { ...range, after }),
        table: auditEntries,
        itemOf(cells) {
          const { id: _, tenant: __, details, ...row } = auditEntries.row(cells)
          return { ...row, ...details }
        },
        positionOf: (cells) => [
          auditEntries.valueIn("created", cells).toISOString(),
          auditEntries.valueIn("id", cells) as number,
        ],
      })
    },
  }
}

function selectionOf({ subject, keyId, method }: AuditFilter): { by: By; value: string } {
  if (subject !== undefined) return { by: "subject", value: subject }
  if (keyId !== undefined) return { by: "keyId", value: keyId }
  return { by: method === undefined ? undefined : "method", value: method ?? "" }
}
