/** A number of bytes that may be held at the same time. */
export class Budget {
  readonly #bytes: number
  #taken = 0

  constructor(bytes: number) {
    this.#bytes = bytes
  }

  /** Takes bytes of the budget. False, and nothing taken, if that would exceed it. */
  take(bytes: number): boolean {
    if (this.#taken + bytes > this.#bytes) return false
    this.#taken += bytes
    return true
  }

  /** Gives bytes back that were taken. */
  give(bytes: number): void {
    this.#taken -= bytes
  }
}

/** What one connection may hold, over all of its streams. */
export interface ConnectionBudgets {
  /** Bytes of requests that are not whole yet, or whose calls are not over. */
  readonly requests: Budget
  /** Bytes of answers that the client has not taken yet. */
  readonly answers: Budget
}
