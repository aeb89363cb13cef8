import type { ListUsersRequest } from "@authwire/proto"
import type { DescMessage, JsonObject, Message, MessageInitShape } from "@bufbuild/protobuf"
import { type Duration, type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt"
import { Failure, invalidField, type Reason } from "../../errors/failure.js"
import type * as domain from "../../store/types.js"

// The files of this folder are the only mapping between messages and domain types. Requests have been validated by now, so
// the rules of the schema guarantee what these functions assume of a field.

/** The page size if the request has none, as documented in the schema. */
const defaultPageSize = 50

/** T with every property present, if only as undefined, so that the compiler reports one that a mapping omits. */
export type Whole<T> = { [K in keyof Required<T>]: T[K] }

/** The same for a message: every field of the schema is present. */
export type WholeMessage<S extends DescMessage> = Exclude<MessageInitShape<S>, Message> &
  Record<keyof S["field"], unknown>

/** Returns a result of the store, or throws the reason that the schema has for null. */
export function found<T>(thing: T | null, reason: Extract<Reason, `${string}_NOT_FOUND`>): T {
  if (thing === null) throw new Failure(reason)
  return thing
}

/** Rounds down to milliseconds, also before 1970. Throws INVALID_FIELD for bad `nanos`, as the rules may let them pass. */
export function toDate(timestamp: Timestamp, field: string): Date {
  return new Date(Number(timestamp.seconds) * 1000 + toWholeMs(timestamp, 0, field))
}

const nanosPerSecond = 1_000_000_000

/** Returns the whole milliseconds of `nanos`. Throws INVALID_FIELD unless it is from `least` to less than a second. */
function toWholeMs({ nanos }: { nanos: number }, least: number, field: string): number {
  if (nanos < least || nanos >= nanosPerSecond) {
    throw invalidField(field, `must have nanos from ${least} to 999999999`)
  }
  return Math.floor(nanos / 1_000_000)
}

/** Converts a duration to milliseconds, rounded down. */
export function toMilliseconds(duration: Duration, field: string): number {
  return Number(duration.seconds) * 1000 + toWholeMs(duration, 1 - nanosPerSecond, field)
}

/** Converts the pagination fields, which have the names of AIP-158. */
export function toPage(request: Pick<ListUsersRequest, "pageSize" | "pageToken">): domain.PageRequest {
  return { size: request.pageSize || defaultPageSize, token: request.pageToken || undefined }
}

/** Returns a field that the schema's `required` rule guarantees. Throws INVALID_FIELD if it is absent. */
export function required<T>(value: T | undefined, field: string): T {
  if (value === undefined) throw invalidField(field, "is required")
  return value
}

/** Returns the times of an item of a list. Other results have none. */
export function timesOf(thing: object | domain.Times) {
  if (!("created" in thing)) return { createTime: undefined, updateTime: undefined }
  return { createTime: timestampFromDate(thing.created), updateTime: timestampFromDate(thing.updated) }
}

// The rule of the schema accepts paths below a field: `extra.role`, `name.x`.
export function unknownPath(): Failure {
  return invalidField("update_mask", "must name whole fields; to set a key of extra, name extra")
}

/**
 * Converts the `extra` of an update, without nulls of the properties that have a field. A read may return such nulls, so an update
 * accepts them, but they clear nothing: a field is cleared by its own path.
 */
export function toExtraPatch(extra: JsonObject | undefined, fields: ReadonlySet<string>): domain.Extra {
  return Object.fromEntries(Object.entries(extra ?? {}).filter(([name]) => !fields.has(name)))
}

export function fromExtra(extra: domain.Extra): JsonObject | undefined {
  return Object.keys(extra).length === 0 ? undefined : extra
}
