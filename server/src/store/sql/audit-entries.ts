import type { AuditStore, Caller, Transaction } from "../store.js"
import type { AuditEntry, AuditFilter } from "../types.js"
import type { Database } from "./database.js"
import { readPage, rowsPerStatement } from "./query/page.js"
import type { PageTokens } from "./query/page-tokens.js"
import { type Cell, type Change, type Statement, statement } from "./query/statement.js"
import type { AuditRow } from "./schema/rows.js"
import { withoutSkipped } from "./schema/unreadable-row.js"
import { againIfTooMany } from "./sessions/too-many-sessions.js"
import type { GroupTransaction } from "./transaction/group-commit.js"

// The range of times that every engine supports.
const first = new Date("1000-01-01T00:00:00.000Z")
const last = new Date("9999-12-31T23:59:59.999Z")

/** The column that a list selects by; undefined: only the tenant. */
type By = "subject" | "keyId" | "method" | undefined

/** What one statement reads: the entries before a position, the newest first. */
interface Range {
  tenant: string
  by: string
  since: Date
  after: Position
}

interface Position {
  created: Date
  id: number
}

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
      created: ({ after }) => auditEntries.cell("created", after.created),
      id: ({ after }) => auditEntries.cell("id", after.id),
      since: ({ since }) => auditEntries.cell("created", since),
      ...(by !== undefined && { by: ({ by: value }: Range) => auditEntries.cell(by, value) }),
    })
  }
  const followings = new Map(
    ([undefined, "subject", "keyId", "method"] as const).map((by) => [by as By, followingOf(by)]),
  )

  const insertsOf = ({ tenant }: Caller, entries: readonly AuditEntry[]): Change[] =>
    entries.map(({ created, method, keyId, subject, ...details }) =>
      auditEntries.inserted({ tenant, created, method, keyId, subject, details }),
    )

  return {
    async add(caller, entries) {
      await database.writes(caller, [], (sql) => sql.change(insertsOf(caller, entries)))
    },

    together(caller, work) {
      const inTransaction = async (transaction: Transaction) => {
        const { result, entries } = await work(transaction)
        for (const insert of insertsOf(caller, entries)) await (transaction as GroupTransaction).changeAtCommit(insert)
        return result
      }
      const { transaction } = caller
      if (transaction !== undefined) return inTransaction(transaction)
      return againIfTooMany(() => database.together(caller, [], inTransaction, { isRepeatable: false }))
    },

    async list(caller, filter, { size, token }) {
      const list = ["audit entries", caller.tenant, JSON.stringify(filter)]
      const [created, id] =
        token === undefined ? [(filter.before ?? last).toISOString(), 0] : tokens.open<[string, number]>(list, token)
      const { by, value } = selectionOf(filter)
      const range = { tenant: caller.tenant, by: value, since: filter.since ?? first }
      const sql = database.reads(caller)
      const { items, next } = await readPage<AuditEntry & Position, Position>({
        size,
        after: { created: new Date(created), id },
        read: (after) => sql.read(followings.get(by) as Statement<Range>, { ...range, after }),
        itemOf: (row) =>
          auditEntries.readableItem(row, entryOf, (cells) => ({
            created: auditEntries.valueIn("created", cells) as Date,
            id: auditEntries.valueIn("id", cells) as number,
          })),
      })
      return {
        items: withoutSkipped(items).map(({ id: _, ...entry }) => entry),
        nextToken: next && tokens.seal(list, [next.created.toISOString(), next.id]),
      }
    },
  }

  function entryOf(cells: Cell[]): AuditEntry & Position {
    const { id, tenant: _, details, ...row } = auditEntries.row(cells)
    return { ...row, ...details, id: id as number }
  }
}

function selectionOf({ subject, keyId, method }: AuditFilter): { by: By; value: string } {
  if (subject !== undefined) return { by: "subject", value: subject }
  if (keyId !== undefined) return { by: "keyId", value: keyId }
  return { by: method === undefined ? undefined : "method", value: method ?? "" }
}
