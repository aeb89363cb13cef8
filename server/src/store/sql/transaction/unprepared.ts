import { StoreError } from "../../../errors/store-error.js"
import type { Caller } from "../../store.js"

/** A transaction has met what must be done before it and outside of it, such as a long deletion, and is rolled back. */
export class Unprepared extends StoreError {
  readonly prepare: () => Promise<unknown>

  /** @param prepare does what must be done before. */
  constructor(message: string, prepare: () => Promise<unknown>) {
    super("CONFLICT", message)
    this.prepare = prepare
  }
}

/** Runs work. If it was unprepared, prepares it and runs it once more, unless it is a part of the caller's transaction. */
export async function againIfUnprepared<T>({ transaction }: Caller, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (transaction !== undefined || !(error instanceof Unprepared)) throw error
    await error.prepare()
    return work()
  }
}
