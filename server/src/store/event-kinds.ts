/** The kinds of writes that are recorded as events: the object and the operation. */
export const eventKinds = [
  "user.created",
  "user.updated",
  /** The user's accounts, sessions and authenticators were deleted with it. */
  "user.deleted",
  /** All sessions of the user were deleted, or all but the one of `sessionId` (see EventIds), or only those of `provider`. */
  "user.sessions_revoked",
  "user.disabled",
  "user.enabled",
  "account.linked",
  /** The tokens or other fields of an account were replaced. */
  "account.updated",
  "account.unlinked",
  "session.created",
  /** The session's expiry, user or properties were changed. */
  "session.updated",
  "session.deleted",
  "verification_token.created",
  "verification_token.used",
  "authenticator.created",
  /** The counter was raised, or the name was changed. */
  "authenticator.updated",
  "authenticator.deleted",
  /** All sessions of the tenant, or those of `provider`, were ended by SessionStore.revokeAll. */
  "all_sessions.revoked",
  "session_policy.updated",
] as const
