import { createHash } from "node:crypto"

/** What the service calls a session when it was changed; see FollowResponse.keys. */
export function sessionKey(id: string): string {
  return keyOf(`s${id}`)
}

/** The same for a user, and so for all its sessions. */
export function userKey(id: string): string {
  return keyOf(`u${id}`)
}

function keyOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 16)
}
