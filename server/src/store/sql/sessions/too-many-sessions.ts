import { StoreError } from "../../../errors/store-error.js"

/** A transaction has met more sessions of a user than one statement counts, and is rolled back. */
export class TooManySessions extends StoreError {
  constructor() {
    super("CONFLICT", "the user has too many sessions to count them at once")
  }
}

/** Runs work that prunes the sessions of a user where the policy is known, and once more if they were too many. */
export async function againIfTooMany<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof TooManySessions)) throw error
    return work()
  }
}
