import { StoreError } from "../../../errors/store-error.js"
import type { Caller } from "../../store.js"
import { firstTime, lastTime } from "../../times.js"
import type { PageRequest, UserFilter } from "../../types.js"
import type { Database } from "../database.js"
import { listAlong } from "../walks/list.js"
import type { PageTokens } from "../walks/page-tokens.js"
import { type WalkOf, walks } from "../walks/walks.js"
import { startOfDay } from "./seen-users.js"
import { emailKey, nameKeyCharacters } from "./text-keys.js"
import type { UserReader } from "./user-reader.js"

/** The walks of lists of users: by a property, then by their ids. */
const orders = {
  created: walks.usersByCreation,
  emailPrefix: walks.usersByAddress,
  namePrefix: walks.usersByName,
  lastSeenDay: walks.usersByLastUse,
  // Users whose time has ended are among them.
  disabled: walks.disabledUsers,
} as const

type OrderName = keyof typeof orders

/** The orders that can be reversed. */
const ofTime = ["created", "lastSeenDay", "disabled"] as const satisfies OrderName[]

/** Returns the next millisecond, before which nobody is older than the time. No user has the last time of all. */
const after = (time: Date) => new Date(Math.min(time.getTime() + 1, lastTime.getTime()))

/** The users whose value is at or after the first one and at or before the last one. */
type UserRange = TextRange | TimeRange

interface TextRange {
  order: OrderName
  first: string
  last: string
}

interface TimeRange {
  order: OrderName
  first: Date
  last: Date
  /** Whether the list begins with the last one. */
  newestFirst: boolean
}

/** Creates the pages of ranges of users. */
export function userRanges(database: Database, reader: UserReader, tokens: PageTokens) {
  const listOf = (walk: WalkOf<"users">, backwards = false) =>
    listAlong(database, walk, { alias: "u", select: reader.listedColumns("u"), backwards, to: walk.order.slice(0, 1) })
  const entries = Object.entries(orders) as [OrderName, WalkOf<"users">][]
  const lists = Object.fromEntries(entries.map(([name, walk]) => [name, listOf(walk)]))
  const backwardLists = Object.fromEntries(ofTime.map((name) => [name, listOf(orders[name], true)]))

  return (caller: Caller, name: readonly string[], range: UserRange, page: PageRequest) => {
    const { order } = range
    const [property] = orders[order].order as [string]
    const isBackwards = "newestFirst" in range && range.newestFirst
    const list = (isBackwards ? backwardLists : lists)[order] as ReturnType<typeof listOf>
    const [first, last] = isBackwards ? [after(range.last), range.first] : [range.first, range.last]
    return list(page, {
      tokens,
      name,
      first: { [property]: first, id: "" },
      values: { of: { tenant: caller.tenant }, to: { [property]: last } },
      itemOf: reader.listed,
      reads: database.olderReads(caller),
      signal: caller.signal,
    })
  }
}

/** Returns the range of a filter, undefined if no user can match. Throws INVALID_FIELD for filters without a common index. */
export function rangeOf(filter: UserFilter): UserRange | undefined {
  const { emailPrefix, namePrefix, lastSeenSince, createdSince = firstTime, createdBefore = lastTime } = filter
  const newestFirst = filter.newestFirst === true
  if (emailPrefix !== undefined) return prefixRange("emailPrefix", emailPrefix, 320)
  if (namePrefix !== undefined) return prefixRange("namePrefix", namePrefix, nameKeyCharacters)
  if (lastSeenSince !== undefined)
    return { order: "lastSeenDay", first: startOfDay(lastSeenSince), last: lastTime, newestFirst }
  if (filter.disabled) return { order: "disabled", first: firstTime, last: lastTime, newestFirst }
  // Times are kept to the millisecond.
  return { order: "created", first: createdSince, last: new Date(createdBefore.getTime() - 1), newestFirst }
}

/**
 * The texts that begin with a prefix are those from the prefix itself to the prefix with the greatest characters after it.
 * No text has more characters than `characters`.
 */
function prefixRange(order: OrderName, prefix: string, characters: number): TextRange | undefined {
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
} satisfies Record<Exclude<keyof UserFilter, "newestFirst">, string>

/** Throws INVALID_FIELD unless one index serves all filters that are given. */
export function checkFilters(filter: UserFilter): void {
  const given = (Object.keys(fields) as (keyof typeof fields)[]).filter(
    (name) => filter[name] !== undefined && filter[name] !== false,
  )
  const others = given.filter((name) => !["email", "createdSince", "createdBefore"].includes(name))
  if (others.length > 0 && given.length > 1) throw noCommonIndex(given.map((name) => fields[name]))
  if (!filter.newestFirst) return
  const unordered = others.find((name) => ["emailPrefix", "namePrefix", "provider"].includes(name))
  if (unordered !== undefined) {
    const rule = `a list by ${fields[unordered]} is not ordered by a time`
    throw new StoreError("INVALID_FIELD", rule, { field: "newest_first" })
  }
}

/** The failure of filters that no index serves together. It is about the last of them. */
export function noCommonIndex(given: readonly string[]): StoreError {
  const rule = `no index serves ${given.join(" and ")} together`
  return new StoreError("INVALID_FIELD", rule, { field: given.at(-1) as string })
}
