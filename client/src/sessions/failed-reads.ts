import type { AuthwireError } from "../errors/error.js"
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
  /** Throws an error that was just recorded, if any. Must be called before a user is looked up. */
  throwIfAny(): void
}

/**
 * The number of consecutive microtasks for which a record is kept. Auth.js awaits nothing between a failed read and its
 * next read, which therefore begins two microtasks after the failure. Each async function with which an application
 * wraps these methods adds up to three.
 */
const recordLifetime = 100

export function failedReads(): FailedReads {
  // Several requests may fail in the same turn of the event loop, also by the same error. Each has a record of its own, so that one
  // request never removes that of another.
  let records: { readonly error: AuthwireError }[] = []
  return {
    record(error) {
      if (!isOutage(error) || rejectsUserId(error)) return
      const record = { error }
      records.push(record)
      void microtasks(recordLifetime).then(() => {
        records = records.filter((one) => one !== record)
      })
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

/**
 * Waits for a number of consecutive microtasks. Every runtime runs microtasks in the order in which they were queued, and
 * before the next event. A timer would not do, because workerd drops the timers of a request when the request ends.
 */
async function microtasks(count: number): Promise<void> {
  for (let done = 0; done < count; done++) await undefined
}

/** Returns whether getUser rejected the user ID of a session. Such a session belongs to no user. */
function rejectsUserId({ code, fieldViolations }: AuthwireError): boolean {
  return code === "INVALID_ARGUMENT" && fieldViolations.some(({ field }) => field === "id")
}
