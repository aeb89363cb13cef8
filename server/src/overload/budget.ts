/** A number of bytes that may be held at the same time. */
export class Budget {
  readonly #bytes: number
  readonly #enough: number
  #taken = 0
  #within: Budget | undefined

  /** @param enough See `isTight`. Default: all of it. */
  constructor(bytes: number, enough = bytes) {
    this.#bytes = bytes
    this.#enough = enough
  }

  /** Takes bytes of the budget. False, and nothing taken, if that would exceed it. */
  take(bytes: number): boolean {
    if (this.#taken + bytes > this.#bytes || this.#within?.take(bytes) === false) return false
    this.#taken += bytes
    return true
  }

  /** Whether so much is taken that what would need more of it is better not begun. */
  get isTight(): boolean {
    return this.#taken >= this.#enough || this.#within?.isTight === true
  }

  /** Gives bytes back that were taken. */
  give(bytes: number): void {
    this.#taken -= bytes
    this.#within?.give(bytes)
  }

  /** From now on, what is taken of this budget is taken of a larger one, too, as what is taken already. Not twice. */
  belongTo(larger: Budget): void {
    if (this.#within !== undefined) throw new Error("the budget belongs to another one")
    this.#within = larger
    larger.#taken += this.#taken
  }
}

/** What one connection may hold over all of its streams, or one key over all of its connections. */
export interface Budgets {
  /** Bytes of requests that are not whole yet, or whose calls are not over. */
  readonly requests: Budget
  /** Bytes of answers that the client has not taken yet. */
  readonly answers: Budget
}
