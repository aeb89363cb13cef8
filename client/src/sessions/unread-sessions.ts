import type { AuthwireError } from "../error.js"
import { isOutage } from "./unavailable.js"

/**
 * The failure of a read that Auth.js swallows without a word. With JWT sessions it does so at a sign-in of somebody who is signed
 * in already (see handle-login.js of @auth/core): it goes on as if nobody were, and links the account to a second user.
 */
export interface UnreadSession {
  /** A read has failed that tells who is signed in. */
  note(error: unknown): void
  /** Auth.js has heard of it: it was no sign-in that read. */
  forget(): void
  /** To be called before it is asked to whom an account or an address belongs. Throws what has just been noted. */
  throwIfUnread(): void
}

export function unreadSession(): UnreadSession {
  let unread: AuthwireError | undefined
  return {
    note(error) {
      // A session whose user cannot be is that of nobody.
      if (!isOutage(error) || error.code === "INVALID_ARGUMENT") return
      unread = error
      // Between its reads Auth.js waits for nothing, so the next one comes in this turn of the event loop.
      setTimeout(() => {
        if (unread === error) unread = undefined
      }, 0)
    },
    forget() {
      unread = undefined
    },
    throwIfUnread() {
      if (unread !== undefined) throw unread
    },
  }
}
