import { EventKind, type EventSchema } from "@authwire/proto"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import type * as domain from "../../store/types.js"
import type { WholeMessage } from "./values.js"

/** The kinds of the schema, for both directions. The compiler reports a kind that is missing. */
const eventKinds: Record<domain.EventKind, EventKind> = {
  "user.created": EventKind.USER_CREATED,
  "user.updated": EventKind.USER_UPDATED,
  "user.deleted": EventKind.USER_DELETED,
  "user.sessions_revoked": EventKind.USER_SESSIONS_REVOKED,
  "user.disabled": EventKind.USER_DISABLED,
  "user.enabled": EventKind.USER_ENABLED,
  "account.linked": EventKind.ACCOUNT_LINKED,
  "account.updated": EventKind.ACCOUNT_UPDATED,
  "account.unlinked": EventKind.ACCOUNT_UNLINKED,
  "session.created": EventKind.SESSION_CREATED,
  "session.updated": EventKind.SESSION_UPDATED,
  "session.deleted": EventKind.SESSION_DELETED,
  "verification_token.created": EventKind.VERIFICATION_TOKEN_CREATED,
  "verification_token.used": EventKind.VERIFICATION_TOKEN_USED,
  "authenticator.created": EventKind.AUTHENTICATOR_CREATED,
  "authenticator.updated": EventKind.AUTHENTICATOR_UPDATED,
  "authenticator.deleted": EventKind.AUTHENTICATOR_DELETED,
  "all_sessions.revoked": EventKind.ALL_SESSIONS_REVOKED,
  "session_policy.updated": EventKind.SESSION_POLICY_UPDATED,
}

export const fromEventKind = (kind: domain.EventKind): EventKind => eventKinds[kind]

/** Converts a list of kinds. Returns undefined, for all kinds, if the list is empty. */
export function toEventKinds(kinds: readonly EventKind[]): ReadonlySet<domain.EventKind> | undefined {
  if (kinds.length === 0) return undefined
  const wanted = Object.entries(eventKinds).filter(([, kind]) => kinds.includes(kind))
  return new Set(wanted.map(([kind]) => kind as domain.EventKind))
}

export function fromEvent(event: domain.StoredEvent): WholeMessage<typeof EventSchema> {
  return {
    kind: eventKinds[event.kind],
    createTime: timestampFromDate(event.created),
    userId: event.userId,
    sessionId: event.sessionId,
    provider: event.provider,
  }
}
