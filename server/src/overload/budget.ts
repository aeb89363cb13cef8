/** A limit of the bytes that are held at the same time. */
export class Budget {
  readonly #bytes: number
  readonly #enough: number
  #taken = 0
  #within: Budget | undefined

  /** @param enough The number of bytes from which on `isTight`. Default: `bytes`. */
  constructor(bytes: number, enough = bytes) {
    this.#bytes = bytes
    this.#enough = enough
  }

  /** Reserves bytes. Returns false, and reserves nothing, if that would exceed the budget. */
  take(bytes: number): boolean {
    if (this.#taken + bytes > this.#bytes || this.#within?.take(bytes) === false) return false
    this.#taken += bytes
    return true
  }

  /** Whether so much is reserved that no further work should begin that needs more of the budget. */
  get isTight(): boolean {
    return this.#taken >= this.#enough || this.#within?.isTight === true
  }

  /** Releases reserved bytes. */
  give(bytes: number): void {
    this.#taken -= bytes
    this.#within?.give(bytes)
  }

  /** Makes this budget a part of a larger one: whatever it has reserved, and reserves from now on, also counts in the larger one. Only once. */
  belongTo(larger: Budget): void {
    if (this.#within !== undefined) throw new Error("the budget belongs to another one")
    this.#within = larger
    larger.#taken += this.#taken
  }
}

/** The memory that one connection may hold over all of its streams, or one key over all of its connections. */
export interface Budgets {
  /** Bytes of requests that are incomplete, or whose calls have not ended. */
  readonly requests: Budget
  /** Bytes of answers that the client has not read yet. */
  readonly answers: Budget
}
