import type { ListUsersRequestSchema } from "@authwire/proto"
import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"

export type UserFilter = MessageInitShape<typeof ListUsersRequestSchema>

const since = (days: number) => timestampFromMs(Date.now() - days * 86_400_000)

/** The lists of users, by their name in the address. Each is one filter that an index serves. */
export const userFilters: Readonly<Record<string, { label: string; filter: () => UserFilter }>> = {
  all: { label: "All users", filter: () => ({}) },
  disabled: { label: "Disabled", filter: () => ({ disabled: true }) },
  enabled: { label: "Enabled", filter: () => ({ disabled: false }) },
  "new-7": { label: "Created in 7 days", filter: () => ({ createdSince: since(7) }) },
  "new-30": { label: "Created in 30 days", filter: () => ({ createdSince: since(30) }) },
  "seen-1": { label: "Seen since yesterday", filter: () => ({ lastSeenSince: since(1) }) },
  "seen-30": { label: "Seen in 30 days", filter: () => ({ lastSeenSince: since(30) }) },
}

const ofProvider = "provider:"

/** Returns the filter of a name in the address; `provider:` is followed by the id of a provider. Unknown names are `all`. */
export function userFilter(name: string): UserFilter {
  if (name.startsWith(ofProvider) && name.length > ofProvider.length) return { provider: name.slice(ofProvider.length) }
  return Object.hasOwn(userFilters, name) ? (userFilters[name]?.filter() ?? {}) : {}
}
