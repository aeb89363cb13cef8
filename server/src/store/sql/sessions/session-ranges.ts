import { lastTime } from "../../times.js"
import type { SessionFilter } from "../../types.js"
import type { Database } from "../database.js"
import { examinedAtOnce, rowsPerStatement } from "../query/page.js"
import { type Cell, type Statement, statement } from "../query/statement.js"
import { ofPresentUser } from "../schema/present-users.js"
import type { SessionRow } from "../schema/rows.js"
import { noCommonIndex } from "../users/user-ranges.js"
import type { LivingSince, SessionRules } from "./session-rules.js"

/** A position in the order of a list, which is descending. */
export type Position = [created: string, id: string]

/** What one statement reads: the sessions after one position, up to another one. */
export interface Range extends LivingSince {
  tenant: string
  userId: string | undefined
  ip: string | undefined
  provider: string | undefined
  since: Date
  after: Position
  end: Position
}

/** The statements of a list. */
export interface SessionRange {
  /** Selects the columns of the next sessions. */
  following: Statement<Range>
  /**
   * Selects the time of creation and the id of the last of the entries that one statement may examine. The index contains
   * them. Undefined for a list whose range contains no other sessions.
   */
  endOfSlice: Statement<Range> | undefined
}

/** The first position of every list, and the last one. */
export const beginning: Position = [lastTime.toISOString(), ""]
export const endAt = (since: Date): Position => [since.toISOString(), ""]

/**
 * The indexes of the lists. After the tenant they have a column that is given, if any, then the time of creation and the id.
 */
type Lead = "userId" | "ip" | undefined

const indexes = { userId: "sessions_user_id", ip: "sessions_ip", none: "sessions_created" }

/** @param columns the columns of sessions that the statements select, for the table alias `s`. */
export function sessionRanges(
  database: Database,
  columns: string,
  rules: SessionRules,
): (filter: SessionFilter) => SessionRange {
  const { sessions } = database.tables
  const isPostgres = database.engine === "postgres"
  const isMariadb = database.engine === "mariadb"

  /**
   * Compares columns with parameters of the same names and this suffix, in the order of the columns.
   *
   * SQLite and PostgreSQL find the place in the index by a comparison of rows, MySQL and MariaDB by the other form.
   */
  function compared(names: readonly string[], operator: "<" | ">=", suffix = ""): string {
    const parameter = (name: string) => `:${name}${suffix}`
    const row = `(${names.map((name) => `s.${name}`).join(", ")}) ${operator} (${names.map(parameter).join(", ")})`
    if (isPostgres || names.length === 1) return row
    const [strict] = operator as string
    const [last = "", ...others] = [...names].reverse()
    const expanded = others.reduce(
      (rest, name) => `(s.${name} ${strict} ${parameter(name)} OR (s.${name} = ${parameter(name)} AND ${rest}))`,
      `s.${last} ${operator} ${parameter(last)}`,
    )
    return `${row} AND ${expanded}`
  }

  function conditionsOf(lead: Lead): { isAfter: string; whole: string; order: string[] } {
    const order = ["created", "id"]
    if (lead === undefined) return { isAfter: compared(order, "<"), whole: "s.created >= :since", order }
    if (isPostgres) {
      // PostgreSQL plans the statement for any value. With an equality condition it expects few sessions, reads all of them
      // and sorts them. With a range it expects many, and reads them in index order.
      const whole = `(s.${lead}, s.created) >= (:${lead}, :since)`
      return { isAfter: compared([lead, ...order], "<"), whole, order: [lead, ...order] }
    }
    // For the equality condition MariaDB would read all sessions of the user.
    const isLead = isMariadb ? `s.${lead} >= :${lead} AND s.${lead} <= :${lead}` : `s.${lead} = :${lead}`
    return { isAfter: `${isLead} AND ${compared(order, "<")}`, whole: "s.created >= :since", order }
  }

  const cells: Record<string, (range: Range) => Cell> = {
    tenant: ({ tenant }) => sessions.cell("tenant", tenant),
    userId: ({ userId = "" }) => sessions.cell("userId", userId),
    ip: ({ ip }) => sessions.cell("ip", ip),
    provider: ({ provider }) => sessions.cell("provider", provider),
    since: ({ since }) => sessions.cell("created", since),
    ...rules.parameters,
    created: ({ after: [created] }) => sessions.cell("created", new Date(created)),
    id: ({ after: [, id] }) => sessions.cell("id", id),
    userIdEnd: ({ userId = "" }) => sessions.cell("userId", userId),
    ipEnd: ({ ip }) => sessions.cell("ip", ip),
    createdEnd: ({ end: [created] }) => sessions.cell("created", new Date(created)),
    idEnd: ({ end: [, id] }) => sessions.cell("id", id),
  }

  function statementOf(what: string, where: string, lead: Lead, { limit, offset }: { limit: number; offset?: number }) {
    // For an equality condition alone, MariaDB would read all sessions of the tenant.
    const order = [...(isMariadb ? ["tenant"] : []), ...(lead === undefined ? [] : [lead]), "created", "id"]
    const isTenant = isMariadb ? "s.tenant >= :tenant AND s.tenant <= :tenant" : "s.tenant = :tenant"
    const condition = `${isTenant} AND ${where}`
    const select = sessions.selectFrom("s").select(what).where(condition).limit(limit).offset(offset)
    // Without the hint, the servers may choose another index for the same order.
    select.useIndex(indexes[lead ?? "none"])
    for (const name of order) select.addOrderBy(`s.${name}`, "DESC")
    const used = Object.entries(cells).filter(([name]) => new RegExp(`:${name}\\b`).test(condition))
    return statement<SessionRow, Range>(select, Object.fromEntries(used))
  }

  function rangeFor({ userId, ip, impersonated, active, provider }: SessionFilter): SessionRange {
    const lead = userId === undefined ? (ip === undefined ? undefined : "ip") : "userId"
    const { isAfter, whole, order } = conditionsOf(lead)
    // The CASE prevents the use of other indexes, and for plain comparisons PostgreSQL would estimate few rows.
    const only = (condition: string) => ` AND CASE WHEN ${condition} THEN TRUE ELSE FALSE END`
    const others = [
      active === undefined ? "" : ` AND CASE WHEN ${rules.living} THEN ${active} ELSE ${!active} END`,
      provider === undefined ? "" : only("s.provider = :provider"),
      impersonated ? only("s.impersonator IS NOT NULL") : "",
      lead === "userId" ? "" : only(ofPresentUser("s.tenant", "s.userId")),
    ].join("")
    const isFiltered = others !== ""
    const range = isFiltered ? `${compared(order, ">=", "End")}${others}` : whole
    const ofPresent = lead === "userId" ? ` AND ${ofPresentUser(":tenant", ":userId")}` : ""
    return {
      following: statementOf(columns, `${isAfter} AND ${range}${ofPresent}`, lead, { limit: rowsPerStatement }),
      endOfSlice: isFiltered
        ? statementOf("s.created, s.id", `${isAfter} AND ${whole}`, lead, { limit: 1, offset: examinedAtOnce - 1 })
        : undefined,
    }
  }

  // One for each combination of filters, because a condition that is always true would spoil PostgreSQL's estimate.
  const ofUser: SessionFilter[] = [undefined, true, false].flatMap((active) =>
    [undefined, ""].map((provider) => ({ userId: "", active, provider })),
  )
  const ofAll: SessionFilter[] = [{}, { ip: "" }, { impersonated: true }]
  const all = new Map([...ofUser, ...ofAll].map((filter) => [kindOf(filter), rangeFor(filter)]))
  return (filter) => all.get(kindOf(filter)) ?? reject(filter)
}

/** Returns a text that is the same for filters of the same form. */
function kindOf({ userId, active, provider, ip, impersonated }: SessionFilter): string {
  return `${userId !== undefined} ${active} ${provider !== undefined} ${ip !== undefined} ${impersonated}`
}

/** Throws INVALID_FIELD for conditions that no index serves together. */
function reject({ userId, active, provider, ip, impersonated }: SessionFilter): never {
  const given = { [userId === undefined ? "all_users" : "user_id"]: true, ip, impersonated, active, provider }
  const names = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  throw noCommonIndex(names)
}
