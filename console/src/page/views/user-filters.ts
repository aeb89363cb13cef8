import type { CountUsersRequestSchema, ListUsersRequestSchema } from "@authwire/proto"
import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"

export type UserFilter = MessageInitShape<typeof ListUsersRequestSchema>

const since = (days: number) => timestampFromMs(Date.now() - days * 86_400_000)
const newestFirst = true

/** The lists of users, by their name in the address. Each is one filter, along whose index it is ordered. */
export const userFilters: Readonly<Record<string, { label: string; filter: () => UserFilter }>> = {
  all: { label: "All users, newest first", filter: () => ({ newestFirst }) },
  oldest: { label: "All users, oldest first", filter: () => ({}) },
  seen: { label: "Last seen first", filter: () => ({ lastSeenSince: timestampFromMs(0), newestFirst }) },
  "seen-1": { label: "Seen since yesterday", filter: () => ({ lastSeenSince: since(1), newestFirst }) },
  "seen-30": { label: "Seen in 30 days", filter: () => ({ lastSeenSince: since(30), newestFirst }) },
  "new-7": { label: "Created in 7 days", filter: () => ({ createdSince: since(7), newestFirst }) },
  "new-30": { label: "Created in 30 days", filter: () => ({ createdSince: since(30), newestFirst }) },
  disabled: { label: "Disabled", filter: () => ({ disabled: true, newestFirst }) },
  enabled: { label: "Enabled", filter: () => ({ disabled: false, newestFirst }) },
}

const ofProvider = "provider:"

/** Returns the filter of a name in the address; `provider:` is followed by the id of a provider. Unknown names are `all`. */
export function userFilter(name: string): UserFilter {
  if (name.startsWith(ofProvider) && name.length > ofProvider.length) return { provider: name.slice(ofProvider.length) }
  const known = Object.hasOwn(userFilters, name) ? userFilters[name] : userFilters.all
  return known?.filter() ?? {}
}

/** Returns what counts the users of a list; undefined if the service can count them only by reading them. */
export function countOf(filter: UserFilter): MessageInitShape<typeof CountUsersRequestSchema> | undefined {
  const { newestFirst: _, createdSince, ...others } = filter
  return Object.keys(others).length > 0 ? undefined : { ...(createdSince && { createdSince }) }
}
