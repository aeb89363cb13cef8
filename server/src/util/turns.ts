import type { Owner } from "./owner.js"

/** What waits for one API key. */
interface Line<Item> {
  readonly owner: Owner
  readonly items: Set<Item>
}

interface TenantLines<Item> {
  /** In the order in which the keys have their turns. */
  readonly keys: Map<string | undefined, Line<Item>>
  /** The number of items of all keys. */
  size: number
}

/**
 * What waits, by its owner. The items of one key stay in their order. The tenants take turns, and the keys of a tenant take its turns
 * in turn, so that an owner with many items delays only its own, and a tenant with many keys only its own keys.
 */
export class Turns<Item> {
  /** In the order in which the tenants have their turns. */
  readonly #tenants = new Map<string, TenantLines<Item>>()
  #size = 0

  /** The number of items of all owners. */
  get size(): number {
    return this.#size
  }

  countOf({ tenant, keyId }: Owner): number {
    return this.#tenants.get(tenant)?.keys.get(keyId)?.items.size ?? 0
  }

  add(owner: Owner, item: Item): void {
    let lines = this.#tenants.get(owner.tenant)
    if (lines === undefined) {
      lines = { keys: new Map(), size: 0 }
      this.#tenants.set(owner.tenant, lines)
    }
    const line = lines.keys.get(owner.keyId)
    if (line === undefined) lines.keys.set(owner.keyId, { owner, items: new Set([item]) })
    else line.items.add(item)
    lines.size++
    this.#size++
  }

  /** Removes an item that is waiting. */
  delete({ tenant, keyId }: Owner, item: Item): void {
    const lines = this.#tenants.get(tenant)
    const items = lines?.keys.get(keyId)?.items
    if (lines === undefined || items?.delete(item) !== true) return
    this.#size--
    lines.size--
    if (items.size === 0) lines.keys.delete(keyId)
    if (lines.size === 0) this.#tenants.delete(tenant)
  }

  /**
   * Removes and returns the next item. Its key has its next turn after all others of the tenant, and its tenant after all others.
   *
   * @param choose Returns one of the items of an owner, the oldest first, or undefined if none of them may be next.
   */
  take(choose: (items: Iterable<Item>, owner: Owner) => Item | undefined): Item | undefined {
    for (const [tenant, lines] of this.#tenants) {
      for (const [keyId, line] of lines.keys) {
        const { owner, items } = line
        const item = choose(items, owner)
        if (item === undefined) continue
        items.delete(item)
        lines.size--
        this.#size--
        lines.keys.delete(keyId)
        if (items.size > 0) lines.keys.set(keyId, line)
        this.#tenants.delete(tenant)
        if (lines.size > 0) this.#tenants.set(tenant, lines)
        return item
      }
    }
    return undefined
  }

  *[Symbol.iterator](): Iterator<Line<Item>> {
    for (const { keys } of this.#tenants.values()) yield* keys.values()
  }
}

/** The first of the items, which is the oldest. */
export function oldest<Item>(items: Iterable<Item>): Item | undefined {
  for (const item of items) return item
  return undefined
}
