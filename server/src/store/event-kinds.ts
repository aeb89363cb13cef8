/** What was written: of which thing, and how. */
export const eventKinds = [
  "user.created",
  "user.updated",
  /** With it went the accounts, sessions and authenticators of the user. */
  "user.deleted",
  /** Sessions of the user were deleted: all that there were, or all but the one of `sessionId` (see EventIds). */
  "user.sessions_revoked",
  "account.linked",
  /** The tokens or other fields of an account were replaced. */
  "account.updated",
  "account.unlinked",
  "session.created",
  /** Its expiry, user or properties were changed. */
  "session.updated",
  "session.deleted",
  "verification_token.created",
  "verification_token.used",
  "authenticator.created",
  "authenticator.updated",
] as const
