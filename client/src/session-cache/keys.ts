import { createHash } from "node:crypto"

/** Returns the key by which the service announces a change of a session; see FollowResponse.keys. */
export function sessionKey(id: string): string {
  return keyOf(`s${id}`)
}

/** Returns the key by which the service announces a change of a user, which affects all sessions of the user. */
export function userKey(id: string): string {
  return keyOf(`u${id}`)
}

function keyOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 16)
}
