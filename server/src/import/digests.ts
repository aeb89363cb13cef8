import type { DatabaseSync, StatementSync } from "node:sqlite"
import { type BulkName, bulkNames } from "../store/sql/index.js"
import { openTemporary, temporarily } from "./temporary.js"

/** Digests of what is known of all rows, in a temporary SQLite file. */
export class Digests {
  readonly keys: Readonly<Record<BulkName, KeySet>>
  /** The keys of rows that cannot be imported. Repeated ones are in `keys`: they are found after all are read. */
  readonly skipped: Readonly<Record<BulkName, KeySet>>
  readonly addresses: KeySet
  /** The ids of users after folding (see `foldedDigest`). */
  readonly foldedIds: KeySet
  /** Users that have an account or an authenticator. */
  readonly owners: KeySet
  readonly #database: DatabaseSync

  constructor(folder?: string) {
    this.#database = openTemporary(folder)
    const keySets = (kind: string) =>
      Object.fromEntries(bulkNames.map((name) => [name, new KeySet(this.#database, `${kind}_${name}`)])) as Record<
        BulkName,
        KeySet
      >
    this.keys = keySets("keys")
    this.skipped = keySets("skipped")
    this.addresses = new KeySet(this.#database, "addresses")
    this.foldedIds = new KeySet(this.#database, "folded_ids")
    this.owners = new KeySet(this.#database, "owners")
  }

  /** Discards them. */
  close(): void {
    this.#database.close()
  }
}

/** A set of keys, as digests. All keys must be added before the first lookup. */
export class KeySet {
  readonly #database: DatabaseSync
  readonly #table: string
  readonly #insert: StatementSync
  #select: StatementSync | undefined
  #repeated: Set<bigint> | undefined

  constructor(database: DatabaseSync, table: string) {
    this.#database = database
    this.#table = table
    database.exec(`CREATE TABLE ${table} (digest INTEGER)`)
    this.#insert = database.prepare(`INSERT INTO ${table} SELECT value FROM json_each(?)`)
  }

  add(digests: readonly bigint[]): void {
    if (digests.length > 0) temporarily(() => this.#insert.run(`[${digests}]`))
  }

  has(digest: bigint): boolean {
    return temporarily(() => this.#indexed().get(digest)) !== undefined
  }

  /** Returns the keys that were added more than once. They are kept in memory. */
  repeated(): ReadonlySet<bigint> {
    if (this.#repeated !== undefined) return this.#repeated
    this.#indexed()
    const repeated = this.#database.prepare(`SELECT digest FROM ${this.#table} GROUP BY digest HAVING count(*) > 1`)
    repeated.setReadBigInts(true)
    this.#repeated = new Set(temporarily(() => repeated.all()).map(({ digest }) => digest as bigint))
    return this.#repeated
  }

  /** Creates the index when all keys are there, because sorting them once is faster than inserting each at its place. */
  #indexed(): StatementSync {
    if (this.#select === undefined) {
      temporarily(() => this.#database.exec(`CREATE INDEX ${this.#table}_index ON ${this.#table} (digest)`))
      this.#select = this.#database.prepare(`SELECT 1 FROM ${this.#table} WHERE digest = ?`)
    }
    return this.#select
  }
}

/** Returns a function that tells whether a key occurs for the first time. It remembers only repeated keys. */
export function firstOf(set: KeySet): (digest: () => bigint) => boolean {
  const seen = new Set<bigint>()
  return (digest) => {
    if (set.repeated().size === 0) return true
    const key = digest()
    if (!set.repeated().has(key)) return true
    if (seen.has(key)) return false
    seen.add(key)
    return true
  }
}
