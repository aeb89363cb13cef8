import { hash, randomUUID } from "node:crypto"
import type { Caller } from "../../store.js"
import type { EventIds, Session } from "../../types.js"
import type { SessionRow } from "../schema/entities.js"

/** What stands for a session token. */
export const hashOfToken = (sessionToken: string): Buffer => hash("sha256", sessionToken, "buffer")

/** The key of the row of a session. */
export function keyOfSession({ tenant }: Caller, sessionToken: string): Pick<SessionRow, "tenant" | "tokenHash"> {
  return { tenant, tokenHash: hashOfToken(sessionToken) }
}

/** What a new session is called by who does not have its token. */
export function newHandle(): string {
  // Node has random bytes for many of these at hand; randomBytes asks the system for each.
  return randomUUID().replaceAll("-", "").toUpperCase()
}

/** What an event says of a session. */
export function idsOf({ userId, id }: Pick<Session, "userId" | "id">): EventIds {
  return { userId, sessionId: id }
}
