import type {
  Account,
  ApiKey,
  AuditEntry,
  Authenticator,
  EventIds,
  EventKind,
  Session,
  SessionMetadata,
  SessionPolicy,
  User,
  VerificationToken,
  Webhook,
  WebhookDelivery,
} from "../../types.js"

/** The tenant of a row. Every key of these tables begins with it. Reads do not select it. */
interface Owned {
  tenant: string
}

/** When a row was inserted, which never changes, and when a call last wrote it. Only lists read these columns. */
interface Timed {
  created?: Date | undefined
  updated?: Date | undefined
}

/**
 * A row of `users`. `emailKey` is the normalized address for comparisons; it is unique within a tenant. `nameKey` is the
 * normalized beginning of the name, by which users are found. Whoever writes an address or a name writes its key. For
 * `provisionalUntil` see provisional-users.ts, for `privateExtra` private-extra.ts, for `deleted` present-users.ts, for
 * the columns of `disabledColumns` present-users.ts.
 */
export interface UserRow extends Omit<User, "disabled">, Timed, Owned {
  emailKey?: string | undefined
  nameKey?: string | undefined
  provisionalUntil?: Date | undefined
  privateExtra?: string | undefined
  deleted?: Date | undefined
  disabledSince?: Date | undefined
  disabledUntil?: Date | undefined
  disabledReason?: string | undefined
  /** The beginning of the UTC day on which a session of the user was last used. Only seen-users.ts writes it. */
  lastSeenDay?: Date | undefined
}

/** The columns of a user's row that are set while the user is disabled. */
export const disabledColumns = ["disabledSince", "disabledUntil", "disabledReason"] as const

/** A row of `accounts`. Only token-refreshes.ts reads and changes the refresh columns. */
export interface AccountRow extends Account, Timed, Owned {
  refreshHolder?: string | undefined
  refreshUntil?: Date | undefined
  refreshFailure?: string | undefined
  refreshMark?: Buffer | undefined
}

/** The columns of an account's row that hold the state of its token refresh. */
export const refreshColumns = ["refreshHolder", "refreshUntil", "refreshFailure", "refreshMark"] as const

/**
 * A row of `sessions`, with the hash of the token in place of the token. The columns beyond the session itself never
 * change, except `lastSeen`. `created` is set when the row is inserted.
 */
export interface SessionRow extends Omit<Session, "sessionToken">, SessionMetadata, Owned {
  tokenHash: Buffer
  created?: Date | undefined
  lastSeen?: Date | undefined
}

/** A row of `verification_tokens`, with the hash of the token in place of the token. */
export interface VerificationTokenRow extends Omit<VerificationToken, "token">, Owned {
  tokenHash: Buffer
}

/** A row of `api_keys`. The database sets when it was last changed. */
export interface ApiKeyRow extends ApiKey {
  changed?: Date | undefined
}

/** A row of `leases`. */
export interface LeaseRow {
  name: string
  holder: string
  until: Date
}

/** A row of `signing_keys`: a key that signs who a user is. */
export interface SigningKeyRow {
  /** One more than that of the key before it. */
  number: number
  /** The private key as a JWK, sealed. */
  privateKey: string
  /** It signs from this time on, until the next key does. */
  usedFrom: Date
}

/** A row of `authenticators`. */
export interface AuthenticatorRow extends Authenticator, Timed, Owned {}

/** A row of `idempotency_keys`: the sealed answer of a write. */
export interface IdempotencyKeyRow extends Owned {
  keyHash: Buffer
  answer: string
  created: Date
}

/**
 * A row of `ended_tokens`: a provider has ended the session, or the sessions of the user, of which `keyHash` is the hash; see
 * signals/ended-tokens.ts.
 */
export interface EndedTokenRow extends Owned {
  keyHash: Buffer
  /** When it has ended them. JWTs of sign-ins before are refused. */
  ended: Date
  /** When no JWT of such a sign-in is valid any more. */
  expires: Date
}

/**
 * A row of `events`. The database generates the id, which orders the events of one tenant only. The sequence is assigned after
 * the commit, when events of the tenant are next read.
 */
export interface EventRow extends EventIds {
  id?: number | undefined
  sequence?: number | undefined
  tenant: string
  kind: EventKind
  created: Date
}

export interface AuditRow extends Pick<AuditEntry, "created" | "method" | "keyId" | "subject"> {
  id?: number | undefined
  tenant: string
  details: Omit<AuditEntry, "created" | "method" | "keyId" | "subject">
}

/** A row of `event_head`: the last sequence that was assigned to an event of the tenant, and the random id of the history. */
export interface EventHeadRow {
  tenant: string
  sequence: number
  history: string
}

/**
 * A row of `session_policies`: with an empty provider the policy of a tenant, otherwise only the marks of a provider.
 * `revokedBefore` ends the sessions that were created before.
 */
export interface SessionPolicyRow extends SessionPolicy, Owned {
  provider: string
  revokedBefore?: Date | undefined
}

/** A row of `caches`: what a process reports about its clients of a tenant that cache sessions. */
export interface ReportRow {
  tenant: string
  process: string
  version: number
  leaseMs: number
  confirmed: number
  expires: Date
}

/** A row of `webhooks`. */
export interface WebhookRow extends Webhook, Owned {
  /** The secrets as a list in JSON, the newest first, sealed. */
  secrets: string
  /** See ActiveWebhook. */
  position: number
  /** See ActiveWebhook. */
  version: number
  /** The number of its last delivery; 0 if there was none. */
  deliveries: number
}

/** A row of `webhook_deliveries`. */
export interface WebhookDeliveryRow extends WebhookDelivery, Owned {
  /** When the row is deleted. */
  expires: Date
}
