import type { BulkName, BulkRows, Holders } from "../store/sql/index.js"
import { digestOf, type Item } from "./item.js"

/** What a check needs to know of the tenant into which the rows will be copied. */
export interface Target {
  holders: Holders
  /** Whether users of the tenant that the source does not have will be deleted. */
  deletes: boolean
}

/** A row whose address or key another user of the tenant has now. */
export interface Claim {
  /** A label that identifies the row. */
  row: string
  /** The id of the user that has the address or the key now. */
  holder: string
}

/** The claims of one table, by the digests of the rows' keys. */
export class Claims<N extends BulkName> {
  readonly #name: N
  readonly #holders: Holders[N] | undefined
  readonly #claims = new Map<bigint, Claim>()

  constructor(name: N, holders: Holders | undefined) {
    this.#name = name
    this.#holders = holders?.[name]
  }

  /** Finds the rows of a page that claim what another user has. */
  async add(items: readonly Item<BulkRows[N]>[]): Promise<void> {
    if (this.#holders === undefined) return
    const known = items.filter(({ row }) => row !== undefined)
    const holders = await this.#holders(known.map(({ row }) => row as BulkRows[N]))
    for (const [index, { row, key, label }] of known.entries()) {
      const holder = holders[index]
      if (holder === undefined || this.#claims.has(key)) continue
      const { id, userId = id } = row as { id?: string; userId?: string }
      if (holder !== userId) this.#claims.set(key, { row: label, holder })
    }
  }

  /**
   * Returns the claims that cannot be met, because the holder keeps what it has. A user whose claim is not met keeps its
   * present address too.
   *
   * @param keeps Whether a user of the tenant stays as it is.
   * @param isAccepted Whether the row with this key can be imported otherwise.
   */
  unmet(keeps: (userId: string) => boolean, isAccepted: (key: bigint) => boolean): Map<bigint, Claim> {
    const open = [...this.#claims].filter(([key]) => isAccepted(key))
    // A holder has only one address, so that only one user claims it.
    const next = new Map(open.map((claim) => [digestOf(claim[1].holder), claim]))
    const unmet = new Map<bigint, Claim>()
    for (const [key, claim] of open) {
      if (!keeps(claim.holder)) continue
      let following: [bigint, Claim] | undefined = [key, claim]
      while (following !== undefined && !unmet.has(following[0])) {
        unmet.set(...following)
        following = this.#name === "users" ? next.get(following[0]) : undefined
      }
    }
    this.#claims.clear()
    return unmet
  }
}
