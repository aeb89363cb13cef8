/** Whose limit a budget is. */
export type Holder = "the connection" | "the API key" | "the tenant" | "the service"

/** A limit of what is held at the same time, such as bytes or streams. It may be a part of a larger one. */
export class Budget {
  readonly #amount: number
  readonly #enough: number
  readonly #holder: Holder
  #taken = 0
  #within: Budget | undefined

  /**
   * @param enough What is reserved when `isTight` begins. Default: `amount`.
   * @param within The larger budget in which everything counts too.
   */
  constructor(amount: number, enough = amount, holder: Holder = "the connection", within?: Budget) {
    this.#amount = amount
    this.#enough = enough
    this.#holder = holder
    this.#within = within
  }

  /** Reserves an amount. Returns false, and reserves nothing, if that would exceed this budget or a larger one. */
  take(amount: number): boolean {
    if (this.#taken + amount > this.#amount || this.#within?.take(amount) === false) return false
    this.#taken += amount
    return true
  }

  /** Reserves an amount. If that would exceed a limit, returns whose limit it is, and reserves nothing. */
  takeOrHolder(amount: number): Holder | undefined {
    if (this.#taken + amount > this.#amount) return this.#holder
    const holder = this.#within?.takeOrHolder(amount)
    if (holder === undefined) this.#taken += amount
    return holder
  }

  /** Whether so much is reserved that no further work should begin that needs more of the budget. */
  get isTight(): boolean {
    return this.#taken >= this.#enough || this.#within?.isTight === true
  }

  /** Releases a reserved amount. */
  give(amount: number): void {
    this.#taken -= amount
    this.#within?.give(amount)
  }

  /** Makes this budget a part of a larger one: whatever it has reserved, and reserves from now on, also counts in the larger one. Only once. */
  belongTo(larger: Budget): void {
    if (this.#within !== undefined) throw new Error("the budget belongs to another one")
    this.#within = larger
    larger.count(this.#taken)
  }

  /** Reserves an amount even if that exceeds the budget. */
  count(amount: number): void {
    this.#taken += amount
    this.#within?.count(amount)
  }
}

/** The memory that one connection may hold over all of its streams, or one key over all of its connections. */
export interface Budgets {
  /** Bytes of requests that are incomplete, or whose calls have not ended. */
  readonly requests: Budget
  /** Bytes of answers that the client has not read yet. */
  readonly answers: Budget
}
