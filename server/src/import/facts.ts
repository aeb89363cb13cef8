import type { BulkName } from "../store/sql/index.js"
import { digestOf, KeySet } from "./key-set.js"
import { bytesOf, Scratch } from "./scratch.js"

/** Digests of the importable rows of a page. They are kept instead of the rows. */
export interface PageFacts {
  keys: BigUint64Array
  /** Only for users: the addresses, and the ids after folding (see `foldedDigest`). */
  addresses: BigUint64Array
  foldedIds: BigUint64Array
  /** Only for rows that belong to users: the user of each row. */
  owners: BigUint64Array
}

/** The facts of a page that are stored in a file. */
export interface StoredFacts {
  /** The number of rows of the page that can be imported. */
  readonly rows: number
  /** Throws StartError. */
  read(): PageFacts
}

/** The position of stored facts. `lengths` are the numbers of digests: keys, addresses, folded ids and owners. */
export interface FactsLocation {
  position: number
  lengths: readonly number[]
}

/** The facts of all pages. */
export class Facts {
  readonly keys = keySets()
  /**
   * The keys of the rows that cannot be imported. Those of repeated keys and addresses are in `keys` instead, because
   * they are found only when all rows have been read.
   */
  readonly skipped = keySets()
  readonly addresses = new KeySet()
  readonly foldedIds = new KeySet()
  /** Users that have an account or an authenticator. */
  readonly owners = new KeySet()
  readonly #pages = new Scratch()

  add(name: BulkName, { keys, addresses, foldedIds, owners }: PageFacts): void {
    this.keys[name].add(keys)
    this.addresses.add(addresses)
    this.foldedIds.add(foldedIds)
    if (name === "accounts" || name === "authenticators") this.owners.add(owners)
  }

  /** Stores the facts of a page in a temporary file. */
  store(facts: PageFacts): StoredFacts {
    const location = writeFacts(facts, (bytes) => this.#pages.append(bytes))
    return storedFacts(location, (position, into) => this.#pages.read(position, into))
  }

  /** Closes the temporary files. */
  close(): void {
    const byTable = [...Object.values(this.keys), ...Object.values(this.skipped)]
    for (const set of [...byTable, this.addresses, this.foldedIds, this.owners]) set.close()
    this.#pages.close()
  }
}

/** Creates an empty set for each table. */
function keySets(): Readonly<Record<BulkName, KeySet>> {
  return {
    users: new KeySet(),
    accounts: new KeySet(),
    sessions: new KeySet(),
    verificationTokens: new KeySet(),
    authenticators: new KeySet(),
  }
}

/** @param append - Appends bytes, and returns the position at which they begin. */
export function writeFacts(
  { keys, addresses, foldedIds, owners }: PageFacts,
  append: (bytes: Uint8Array) => number,
): FactsLocation {
  const parts = [keys, addresses, foldedIds, owners]
  const [position = 0] = parts.map((part) => append(bytesOf(part)))
  return { position, lengths: parts.map(({ length }) => length) }
}

/** @param read - Fills `into` with the bytes that begin at a position. */
export function storedFacts(
  { position, lengths }: FactsLocation,
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

/**
 * Returns the digest of a text after folding of case, accents and trailing spaces. Texts that a folding collation
 * considers equal have the same digest.
 */
export function foldedDigest(text: string): bigint {
  // A fast path, because there are many ids and nearly all of them have only these characters.
  const folded = /^[\w-]*$/.test(text) ? text : text.normalize("NFKD").replaceAll(/\p{M}/gu, "").trimEnd()
  return digestOf(folded.toLowerCase())
}
