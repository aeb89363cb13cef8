/**
 * What waits, by its owner. The items of one owner stay in their order, and the owners take turns, so that an owner with many items
 * delays only its own.
 */
export class Turns<Item> {
  /** In the order in which the owners have their turns. */
  readonly #owners = new Map<string, Set<Item>>()
  #size = 0

  /** The number of items of all owners. */
  get size(): number {
    return this.#size
  }

  countOf(owner: string): number {
    return this.#owners.get(owner)?.size ?? 0
  }

  add(owner: string, item: Item): void {
    const items = this.#owners.get(owner)
    if (items === undefined) this.#owners.set(owner, new Set([item]))
    else items.add(item)
    this.#size++
  }

  /** Removes an item that is waiting. */
  delete(owner: string, item: Item): void {
    const items = this.#owners.get(owner)
    if (items?.delete(item) !== true) return
    this.#size--
    if (items.size === 0) this.#owners.delete(owner)
  }

  /**
   * Returns the next item, and leaves it where it is.
   *
   * @param choose Returns one of the items of an owner, the oldest first, or undefined if none of them may be next. Default: the
   *   oldest.
   */
  next(choose: (items: Iterable<Item>, owner: string) => Item | undefined = oldest): Item | undefined {
    for (const [owner, items] of this.#owners) {
      const item = choose(items, owner)
      if (item !== undefined) return item
    }
    return undefined
  }

  /** Removes and returns the next item. Its owner has its next turn after all others. */
  take(choose: (items: Iterable<Item>, owner: string) => Item | undefined = oldest): Item | undefined {
    for (const [owner, items] of this.#owners) {
      const item = choose(items, owner)
      if (item === undefined) continue
      this.#owners.delete(owner)
      items.delete(item)
      this.#size--
      if (items.size > 0) this.#owners.set(owner, items)
      return item
    }
    return undefined
  }

  [Symbol.iterator](): Iterator<[owner: string, items: ReadonlySet<Item>]> {
    return this.#owners.entries()
  }
}

/** The first of the items, which is the oldest. */
export function oldest<Item>(items: Iterable<Item>): Item | undefined {
  for (const item of items) return item
  return undefined
}
