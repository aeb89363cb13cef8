import { StoreError } from "../../../errors/store-error.js"
import type { Caller } from "../../store.js"
import { firstTime, lastTime } from "../../times.js"
import type { ListedUser, PageRequest, UserFilter } from "../../types.js"
import type { Database } from "../database.js"
import { readList, rowsPerStatement } from "../query/page.js"
import type { PageTokens } from "../query/page-tokens.js"
import { type Cell, type Statement, statement } from "../query/statement.js"
import type { UserRow } from "../schema/rows.js"
import { startOfDay } from "./seen-users.js"
import { emailKey, nameKeyCharacters } from "./text-keys.js"
import type { UserReader } from "./user-reader.js"

type Value = string | Date

/** An order in which users are listed: by a property, then by their ids. */
interface Order {
  /** The index that has the order. It begins with the tenant. */
  index: string
  property: "created" | "emailKey" | "nameKey" | "lastSeenDay" | "disabledSince"
  /** Whether no two users have the same value. */
  isUnique?: boolean
}

type OrderName = "created" | "emailPrefix" | "namePrefix" | "lastSeenDay" | "disabled"

const orders: Record<OrderName, Order> = {
  created: { index: "users_created", property: "created" },
  emailPrefix: { index: "users_email_key", property: "emailKey", isUnique: true },
  namePrefix: { index: "users_name_key", property: "nameKey" },
  lastSeenDay: { index: "users_last_seen_day", property: "lastSeenDay" },
  // Users whose time has ended are among them.
  disabled: { index: "users_disabled", property: "disabledSince" },
}

/** The users whose value is at or after the first one and at or before the last one. */
export interface UserRange {
  order: OrderName
  first: Value
  last: Value
}

/** The user after which a page begins. */
type Position = [value: string, id: string]

interface Wanted {
  tenant: string
  last: Value
  after: Position
}

/** Creates the pages of ranges of users. */
export function userRanges(database: Database, reader: UserReader, tokens: PageTokens) {
  const { users } = database.tables
  const statements = Object.fromEntries(
    Object.entries(orders).map(([name, order]) => [name, following(order)]),
  ) as Record<OrderName, Statement<Wanted>>

  function following({ index, property, isUnique = false }: Order): Statement<Wanted> {
    const value = `u.${property}`
    // The condition is given in two forms, because SQLite finds the place in the index by the first and the servers
    // by the second. Without the hint, the servers read whole rows if most rows of the table are selected.
    const isAfter = `(${value}, u.id) > (:value, :id) AND (${value} > :value OR (${value} = :value AND u.id > :id))`
    const select = users
      .selectFrom("u")
      .select(`${reader.listedColumns("u")}, ${value} AS ordered_by`)
      .useIndex(index)
      .where(`u.tenant = :tenant AND ${value} <= :last AND ${isAfter}`)
      .orderBy("ordered_by")
      .limit(rowsPerStatement)
    const toCell = (value: Value) => users.cell(property, value as UserRow[typeof property])
    const isText = property === "emailKey" || property === "nameKey"
    return statement<UserRow, Wanted>(isUnique ? select : select.addOrderBy("u.id"), {
      tenant: ({ tenant }) => users.cell("tenant", tenant),
      last: ({ last }) => toCell(last),
      value: ({ after: [value] }) => toCell(isText ? value : new Date(value)),
      id: ({ after: [, id] }) => users.cell("id", id),
    })
  }

  return (caller: Caller, name: readonly string[], { order, first, last }: UserRange, page: PageRequest) => {
    const { tenant } = caller
    const sql = database.olderReads(caller)
    return readList<ListedUser, Position>(page, {
      tokens,
      name,
      first: [textOf(first), ""],
      read: (after) => sql.read(statements[order], { tenant, last, after }),
      table: users,
      itemOf: reader.listed,
      positionOf: (cells) => [
        textOf(users.value(orders[order].property, cells.at(-1) as Cell) as Value),
        users.valueIn("id", cells),
      ],
    })
  }
}

function textOf(value: Value): string {
  return value instanceof Date ? value.toISOString() : value
}

/** Returns the range of a filter, undefined if no user can match. Throws INVALID_FIELD for filters without a common index. */
export function rangeOf(filter: UserFilter): UserRange | undefined {
  const { emailPrefix, namePrefix, lastSeenSince, createdSince = firstTime, createdBefore = lastTime } = filter
  if (emailPrefix !== undefined) return prefixRange("emailPrefix", emailPrefix, 320)
  if (namePrefix !== undefined) return prefixRange("namePrefix", namePrefix, nameKeyCharacters)
  if (lastSeenSince !== undefined) return { order: "lastSeenDay", first: startOfDay(lastSeenSince), last: lastTime }
  if (filter.disabled) return { order: "disabled", first: firstTime, last: lastTime }
  // Times are kept to the millisecond.
  return { order: "created", first: createdSince, last: new Date(createdBefore.getTime() - 1) }
}

/**
 * The texts that begin with a prefix are those from the prefix itself to the prefix with the greatest characters after it.
 * No text has more characters than `characters`.
 */
function prefixRange(order: OrderName, prefix: string, characters: number): UserRange | undefined {
  const first = emailKey(prefix)
  if (first === undefined) return undefined
  const last = first + "\u{10ffff}".repeat(Math.max(0, characters - [...first].length))
  return { order, first, last }
}

/** The fields of the filters, as callers know them. */
const fields = {
  email: "email",
  emailPrefix: "email_prefix",
  namePrefix: "name_prefix",
  provider: "provider",
  lastSeenSince: "last_seen_since",
  disabled: "disabled",
  createdSince: "created_since",
  createdBefore: "created_before",
} satisfies Record<keyof UserFilter, string>

/** Throws INVALID_FIELD unless one index serves all filters that are given. */
export function checkFilters(filter: UserFilter): void {
  const given = (Object.keys(fields) as (keyof UserFilter)[]).filter(
    (name) => filter[name] !== undefined && filter[name] !== false,
  )
  const others = given.filter((name) => !["email", "createdSince", "createdBefore"].includes(name))
  if (others.length > 0 && given.length > 1) throw noCommonIndex(given.map((name) => fields[name]))
}

/** The failure of filters that no index serves together. It is about the last of them. */
export function noCommonIndex(given: readonly string[]): StoreError {
  const rule = `no index serves ${given.join(" and ")} together`
  return new StoreError("INVALID_FIELD", rule, { field: given.at(-1) as string })
}
