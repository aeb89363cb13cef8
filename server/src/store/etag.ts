import { hash } from "node:crypto"
import { StoreError } from "../errors/store-error.js"
import type { Account, SessionPolicy, User, UserPatch } from "./types.js"

// An etag is a digest of the fields that a write can change, so it needs no column, and every reader of the same values
// has the same etag. A version column would also count writes that change nothing, and would have to be maintained by every
// statement that writes a row, by imports and by replicas of the previous version. Times of rows cannot serve: two writes
// may be in the same millisecond.

/** The fields of a user that an update can change. The compiler reports a missing one. */
const ofUser: Record<keyof UserPatch, true> = { email: true, emailVerified: true, name: true, image: true, extra: true }

/** The fields of an account. The compiler reports a missing one. */
const ofAccount: Record<keyof Account, true> = {
  userId: true,
  type: true,
  provider: true,
  providerAccountId: true,
  access_token: true,
  token_type: true,
  id_token: true,
  refresh_token: true,
  scope: true,
  expires_in: true,
  expires_at: true,
  authorization_details: true,
  extra: true,
}

/** Returns the etag of a user: equal for users that an update could not tell apart, and different for all others. */
export function userEtag(user: User): string {
  return digestOf(Object.keys(ofUser).map((field) => user[field as keyof User]))
}

/**
 * Returns the etag of an account with its tokens. It is shown only to those who may read these, because whoever knows the
 * rest of an account could use it to check a guess.
 */
export function accountEtag(account: Account): string {
  return digestOf(Object.keys(ofAccount).map((field) => account[field as keyof Account]))
}

/** The rules of a policy. The compiler reports a missing one. */
const ofPolicy: Record<keyof SessionPolicy, true> = {
  maxAge: true,
  idleTimeout: true,
  maxSessions: true,
  atLimit: true,
}

export function sessionPolicyEtag(policy: SessionPolicy): string {
  return digestOf(Object.keys(ofPolicy).map((rule) => policy[rule as keyof SessionPolicy]))
}

/** Throws STALE_ETAG if an etag is given and is not the current one. */
export function checkEtag(given: string | undefined, current: string): void {
  if (given !== undefined && given !== current) throw staleEtag()
}

export function staleEtag(): StoreError {
  return new StoreError("STALE_ETAG", "the etag is not the current one")
}

/** The length from which a text is replaced by its own digest, because to write it as JSON takes longer than to digest it. */
const longText = 4096

/** Returns 132 bits of the SHA-256. An undefined value counts as null: `extra` distinguishes null from absent. */
function digestOf(values: readonly unknown[]): string {
  const short = values.map((value) => (typeof value === "string" && value.length >= longText ? [sha256(value)] : value))
  return sha256(JSON.stringify(short)).slice(0, 22)
}

function sha256(text: string): string {
  return hash("sha256", text, "base64url")
}
