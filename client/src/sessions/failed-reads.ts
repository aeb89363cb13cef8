import type { AuthwireError } from "../error.js"
import { isOutage } from "./unavailable.js"

/**
 * The failed session reads that Auth.js ignores silently. With JWT sessions this happens when a user signs in while already
 * signed in (see handle-login.js of @auth/core): Auth.js continues as if no user were signed in, and links the account to a
 * second user.
 *
 * All requests of a process share this record, because an adapter does not learn which request it works for.
 */
export interface FailedReads {
  /** Records the error of a failed read of the signed-in user. */
  record(error: unknown): void
  /** Removes one record of this error, because Auth.js has logged it: the read was not part of a sign-in. */
  remove(error: AuthwireError): void
  /**
   * Throws an error that was just recorded, if there is one. Must be called before a user is looked up by account or
   * e-mail address.
   */
  throwIfAny(): void
}

export function failedReads(): FailedReads {
  // Several requests may fail in the same turn of the event loop, also by the same error. Each has a record of its own, so that one
  // request never removes that of another.
  let records: { readonly error: AuthwireError }[] = []
  return {
    record(error) {
      // A session with an invalid user ID belongs to no user.
      if (!isOutage(error) || error.code === "INVALID_ARGUMENT") return
      const record = { error }
      records.push(record)
      // Auth.js does not wait for anything between its reads, so the next read begins in the same turn of the event
      // loop.
      setTimeout(() => {
        records = records.filter((one) => one !== record)
      }, 0)
    },
    remove(error) {
      const index = records.findIndex((record) => record.error === error)
      if (index !== -1) records.splice(index, 1)
    },
    throwIfAny() {
      const [record] = records
      if (record !== undefined) throw record.error
    },
  }
}
