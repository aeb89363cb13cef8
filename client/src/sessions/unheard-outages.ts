import type { AuthwireError } from "../error.js"
import { isOutage } from "./unavailable.js"

/**
 * Failures of reads that Auth.js swallows without a word. With JWT sessions it does so at a sign-in of somebody who is signed in
 * already, and then creates a second user, to whom it links the account: see handle-login.js of @auth/core.
 */
export interface UnheardOutages {
  /** A read has failed. */
  note(error: unknown): void
  /** Auth.js has logged the failure: so it was no sign-in that read. */
  heard(error: unknown): void
  /** A failure of which nobody has heard, of a read that the sign-in of now may have begun with. */
  readonly last: AuthwireError | undefined
}

/** How long the calls of a sign-in take at the most, from its first read to the creation of a user, in milliseconds. */
const signInMs = 15_000
/** How many are remembered. */
const most = 100

/** @param now - A monotonic clock, in milliseconds. */
export function unheardOutages(now: () => number = () => performance.now()): UnheardOutages {
  let noted: { readonly error: AuthwireError; readonly until: number }[] = []
  return {
    note(error) {
      if (isOutage(error)) noted = [...noted.slice(1 - most), { error, until: now() + signInMs }]
    },
    heard(error) {
      const index = noted.findIndex((one) => one.error === error)
      if (index >= 0) noted = noted.toSpliced(index, 1)
    },
    get last() {
      noted = noted.filter(({ until }) => until > now())
      return noted.at(-1)?.error
    },
  }
}
