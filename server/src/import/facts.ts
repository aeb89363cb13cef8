import type { BulkName } from "../store/sql/index.js"
import { digestOf, KeySet } from "./key-set.js"
import { bytesOf, Scratch } from "./scratch.js"

/** What is known of a page without its rows, as digests, of those of its rows that can go over. */
export interface PageFacts {
  keys: BigUint64Array
  /** Of users: the addresses, and the ids as a database may find them equal. */
  addresses: BigUint64Array
  foldedIds: BigUint64Array
  /** Of what belongs to users: whose each row is. */
  owners: BigUint64Array
}

/** Facts of a page that stand in a file. */
export interface StoredFacts {
  /** How many rows of the page can go over. */
  readonly rows: number
  /** Throws StartError. */
  read(): PageFacts
}

/** Where facts stand: the numbers of digests are those of the keys, the addresses, the folded ids and the owners. */
export interface FactsPlace {
  position: number
  lengths: readonly number[]
}

/** What is known of all pages. */
export class Facts {
  readonly keys: Readonly<Record<BulkName, KeySet>> = {
    users: new KeySet(),
    accounts: new KeySet(),
    sessions: new KeySet(),
    verificationTokens: new KeySet(),
    authenticators: new KeySet(),
  }
  readonly addresses = new KeySet()
  readonly foldedIds = new KeySet()
  /** Users who have an account or an authenticator. */
  readonly owners = new KeySet()
  readonly #pages = new Scratch()

  add(name: BulkName, { keys, addresses, foldedIds, owners }: PageFacts): void {
    this.keys[name].add(keys)
    this.addresses.add(addresses)
    this.foldedIds.add(foldedIds)
    if (name === "accounts" || name === "authenticators") this.owners.add(owners)
  }

  /** Puts the facts of a page away. */
  store(facts: PageFacts): StoredFacts {
    const place = writeFacts(facts, (bytes) => this.#pages.append(bytes))
    return storedFacts(place, (position, into) => this.#pages.read(position, into))
  }

  /** Gives the files up. */
  close(): void {
    for (const set of [...Object.values(this.keys), this.addresses, this.foldedIds, this.owners]) set.close()
    this.#pages.close()
  }
}

/** @param append - Writes bytes behind those before, and returns where they begin. */
export function writeFacts(
  { keys, addresses, foldedIds, owners }: PageFacts,
  append: (bytes: Uint8Array) => number,
): FactsPlace {
  const parts = [keys, addresses, foldedIds, owners]
  const [position = 0] = parts.map((part) => append(bytesOf(part)))
  return { position, lengths: parts.map(({ length }) => length) }
}

/** @param read - Fills `into` with the bytes that begin at a position. */
export function storedFacts(
  { position, lengths }: FactsPlace,
  read: (position: number, into: Uint8Array) => void,
): StoredFacts {
  return {
    rows: lengths[0] ?? 0,
    read() {
      const all = new BigUint64Array(lengths.reduce((sum, length) => sum + length, 0))
      read(position, bytesOf(all))
      let end = 0
      const [keys, addresses, foldedIds, owners] = lengths.map((length) => {
        end += length
        return all.subarray(end - length, end)
      })
      return { keys, addresses, foldedIds, owners } as PageFacts
    },
  }
}

/** The digest of what a collation that folds makes of a text: two texts that it finds equal have the same. */
export function foldedDigest(text: string): bigint {
  // By far most ids are of these characters alone, and there are many.
  const folded = /^[\w-]*$/.test(text) ? text : text.normalize("NFKD").replaceAll(/\p{M}/gu, "").trimEnd()
  return digestOf(folded.toLowerCase())
}
