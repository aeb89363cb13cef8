import { hash, randomUUID } from "node:crypto"
import type { Caller } from "../../store.js"
import type { EventIds, Session } from "../../types.js"
import type { SessionRow } from "../schema/rows.js"

/** Returns the hash that is stored in place of a session token. */
export const hashOfToken = (sessionToken: string): Buffer => hash("sha256", sessionToken, "buffer")

/** Returns the key of a session's row. */
export function keyOfSession({ tenant }: Caller, sessionToken: string): Pick<SessionRow, "tenant" | "tokenHash"> {
  return { tenant, tokenHash: hashOfToken(sessionToken) }
}

/** Returns the id for a new session, by which callers without its token identify it. */
export function newHandle(): string {
  // randomUUID draws from a buffer of random bytes in Node; randomBytes asks the operating system every time.
  return randomUUID().replaceAll("-", "").toUpperCase()
}

/** Returns the ids for events about a session. */
export function idsOf({ userId, id }: Pick<Session, "userId" | "id">): EventIds {
  return { userId, sessionId: id }
}
