import { hash } from "node:crypto"
import { accessSync, closeSync, constants, existsSync, openSync, renameSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { deserialize, serialize } from "node:v8"
import { orStartError, StartError } from "../errors/start-error.js"
import { type Bulk, type BulkName, bulkNames, type Cipher } from "../store/sql/index.js"
import type { Check, Remembered, RememberedTable } from "./check.js"
import type { AllDifferences, Differences } from "./copy.js"
import type { PageFacts, StoredFacts } from "./facts.js"
import type { Origin, Range } from "./item.js"
import { openSqlite, openSqliteToRead } from "./sqlite.js"

const { version } = createRequire(import.meta.url)("@authwire/server/package.json") as { version: string }

/**
 * The SQLite file that a run leaves to the next one. It has no rows, and no keys in clear text.
 *
 * - `condition`: a hash of what must not change for the data to stay valid: the version of Authwire, the layout of the
 *   origin and the fingerprints of the target.
 * - `ranges`: the keys at which the pages end, encrypted because a key may be an address or a token.
 * - `is_complete`: whether Authwire has exactly the rows of these pages.
 * - `checksum`: the SHA-256 of `facts`. SQLite does not notice that the end of a file is missing.
 */
const schema = [
  "CREATE TABLE checkpoint (condition TEXT)",
  "CREATE TABLE tables (name TEXT PRIMARY KEY, ranges TEXT, is_complete INTEGER)",
  "CREATE TABLE pages (name TEXT, digest TEXT, row_count INTEGER, facts BLOB, checksum TEXT, PRIMARY KEY (name, digest))",
]

export interface CheckpointOptions {
  file: string
  origin: Origin
  /** The tenant that is written to. */
  target: Bulk
  cipher: Cipher
}

/** The result of a comparison. `obstacle` is the reason why no checkpoint was written, if none was. */
export interface Compared {
  found: AllDifferences
  obstacle?: string | undefined
}

/** The file that one run writes at its end and the next run reads. */
export interface Checkpoint {
  /**
   * Returns `none` if there is no such file, and `stale` if the tenant was written to since or if rows are now read in
   * another way. Throws StartError.
   */
  read(): Promise<Remembered | "none" | "stale">
  /** Compares, and records the pages that are copied. */
  write(check: Check, compare: () => Promise<AllDifferences>): Promise<Compared>
  /** Closes the file that was read. The result of `read` cannot be used afterwards. */
  close(): void
}

/** Throws StartError if the file cannot be written, which would otherwise be noticed after all rows were copied. */
export function checkpoint({ file, origin, target, cipher }: CheckpointOptions): Checkpoint {
  orStartError(`--checkpoint: cannot write ${file}`, () => accessSync(dirname(file), constants.W_OK))
  const context = (name: BulkName) => ["import checkpoint", name]

  async function conditionNow(): Promise<string | undefined> {
    const fingerprints = await Promise.all(bulkNames.map((name) => target[name].fingerprint()))
    if (fingerprints.includes(undefined)) return undefined
    return hash("sha256", JSON.stringify([version, origin.layout, fingerprints]))
  }

  /** The file that was read. */
  let opened: DatabaseSync | undefined

  function close(): void {
    opened?.close()
    opened = undefined
  }

  /** Returns the rows of a statement, as arrays. */
  function rows(sql: string, ...parameters: string[]): unknown[][] {
    try {
      opened ??= openSqliteToRead(file)
      const statement = opened.prepare(sql)
      statement.setReturnArrays(true)
      return statement.all(...parameters) as unknown as unknown[][]
    } catch (error) {
      throw unreadable(error)
    }
  }

  function unreadable(cause?: unknown): StartError {
    return new StartError(`--checkpoint: cannot read ${file}: delete it`, { cause })
  }

  function pagesOf(name: BulkName): Map<string, StoredFacts> {
    const pages = rows("SELECT digest, row_count FROM pages WHERE name = ?", name) as [string, number][]
    return new Map(pages.map(([digest, count]) => [digest, { rows: count, read: () => factsOf(name, digest) }]))
  }

  function factsOf(name: BulkName, digest: string): PageFacts {
    const found = rows("SELECT facts, checksum FROM pages WHERE name = ? AND digest = ?", name, digest)
    const [[facts, checksum] = []] = found as [facts: Uint8Array, checksum: string][]
    if (facts === undefined || hash("sha256", facts) !== checksum) throw unreadable()
    return deserialize(facts)
  }

  return {
    async read() {
      if (!existsSync(file)) return "none"
      const [[condition] = []] = rows("SELECT condition FROM checkpoint")
      const tables = rows("SELECT name, ranges, is_complete FROM tables") as [BulkName, string, number][]
      const pages = new Map(tables.map(([name]) => [name, pagesOf(name)]))
      if (condition !== (await conditionNow())) return "stale"
      const remembered = tables.map(([name, sealed, isComplete]): [BulkName, RememberedTable] => {
        const ends = deserialize(Buffer.from(cipher.open(sealed, context(name)), "base64"))
        return [name, { ranges: rangesTo(ends), pages: pages.get(name) ?? new Map(), isComplete: isComplete === 1 }]
      })
      return Object.fromEntries(remembered) as Remembered
    },

    async write(check, compare) {
      const condition = await conditionNow()
      const found = await compare()
      if (condition === undefined) return { found, obstacle: "later changes can only be detected in MySQL and MariaDB" }
      // A concurrent write may change a page that was already compared.
      if (condition !== (await conditionNow())) {
        return { found, obstacle: "another process wrote to the tenant during the comparison" }
      }
      // Only its owner may read the file, because digests of addresses can be guessed.
      closeSync(openSync(`${file}.new`, "w", 0o600))
      const next = openSqlite(`${file}.new`)
      try {
        for (const statement of [...schema, "BEGIN"]) next.exec(statement)
        next.prepare("INSERT INTO checkpoint VALUES (?)").run(condition)
        for (const name of bulkNames) writeTable(next, name, { check, found: found[name] })
        next.exec("COMMIT")
      } finally {
        next.close()
      }
      close()
      renameSync(`${file}.new`, file)
      return { found }
    },

    close,
  }

  function writeTable(
    next: DatabaseSync,
    name: BulkName,
    { check, found }: { check: Check; found: Differences },
  ): void {
    const pages = check.pages(name)
    const ends = serialize(pages.map(({ range }) => range.upTo)).toString("base64")
    const copied = pages.filter(({ state }) => state === "copied")
    const rowCount = copied.reduce((sum, { facts }) => sum + facts.rows, 0)
    const isComplete = rowCount === check.accepted[name] && found.surplus + found.kept === 0
    next.prepare("INSERT INTO tables VALUES (?, ?, ?)").run(name, cipher.seal(ends, context(name)), isComplete ? 1 : 0)
    const insert = next.prepare("INSERT OR IGNORE INTO pages VALUES (?, ?, ?, ?, ?)")
    for (const { digest, facts } of copied) {
      const content = serialize(facts.read())
      insert.run(name, digest, facts.rows, content, hash("sha256", content))
    }
  }
}

/** Returns the ranges that end at these keys. The last range has no end, so that the ranges cover all rows. */
function rangesTo(ends: Range["upTo"][]): Range[] {
  const between = ends.slice(0, -1)
  return [...between, undefined].map((upTo, index) => ({ after: index === 0 ? undefined : between[index - 1], upTo }))
}
