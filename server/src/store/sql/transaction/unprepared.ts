import { StoreError } from "../../../errors/store-error.js"

/**
 * A transaction has met what must be done before it and outside of it, such as a long deletion, and is rolled back. Whoever throws this
 * remembers it, and does it when the work runs again.
 */
export class Unprepared extends StoreError {
  constructor(message: string) {
    super("CONFLICT", message)
  }
}

/** Runs work, and once more if it was unprepared. */
export async function againIfUnprepared<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Unprepared)) throw error
    return work()
  }
}
