import { hash } from "node:crypto"
import { closeSync, existsSync, fstatSync, fsyncSync, openSync, renameSync } from "node:fs"
import { createRequire } from "node:module"
import { deserialize, serialize } from "node:v8"
import { StartError } from "../errors/start-error.js"
import { type Bulk, type BulkName, bulkNames, type Cipher } from "../store/sql/index.js"
import type { Check, Remembered } from "./check.js"
import type { AllDifferences, Differences } from "./copy.js"
import { type FactsLocation, type StoredFacts, storedFacts, writeFacts } from "./facts.js"
import type { Origin, Range } from "./item.js"
import { readFully, writeFully } from "./scratch.js"

// The file begins with the facts of the pages, which are read one page at a time. The contents follow. The last eight
// bytes are the position at which the contents begin.

/** The data that a run leaves to the next one, besides the facts. It has no rows, and no keys in clear text. */
interface Contents {
  /**
   * A hash of what must not change for the data to stay valid: the version of Authwire, the layout of the origin and
   * the fingerprints of the target.
   */
  condition: string
  tables: Record<BulkName, NotedTable>
}

interface NotedTable {
  /** The keys at which the pages end. They are encrypted because a key may be an address or a token. */
  ranges: string
  /** Whether Authwire has exactly the rows of these pages. */
  isComplete: boolean
  pages: { digest: string; location: FactsLocation }[]
}

const { version } = createRequire(import.meta.url)("@authwire/server/package.json") as { version: string }

const footerSize = 8

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

export function checkpoint({ file, origin, target, cipher }: CheckpointOptions): Checkpoint {
  const context = (name: BulkName) => ["import checkpoint", name]

  async function conditionNow(): Promise<string | undefined> {
    const fingerprints = await Promise.all(bulkNames.map((name) => target[name].fingerprint()))
    if (fingerprints.includes(undefined)) return undefined
    return hash("sha256", JSON.stringify([version, origin.layout, fingerprints]))
  }

  /** The file descriptor of the file that was read. */
  let opened: number | undefined

  function close(): void {
    if (opened !== undefined) closeSync(opened)
    opened = undefined
  }

  function read(position: number, into: Uint8Array): void {
    try {
      readFully(opened as number, into, position)
    } catch (error) {
      throw new StartError(`--checkpoint: cannot read ${file}: delete it`, { cause: error })
    }
  }

  function load(): Contents {
    try {
      opened = openSync(file, "r")
      const { size } = fstatSync(opened)
      const footer = Buffer.alloc(footerSize)
      readFully(opened, footer, size - footerSize)
      const start = Number(footer.readBigUInt64LE())
      const contents = Buffer.alloc(size - footerSize - start)
      readFully(opened, contents, start)
      return deserialize(contents) as Contents
    } catch (error) {
      throw new StartError(`--checkpoint: cannot read ${file}: delete it`, { cause: error })
    }
  }

  return {
    async read() {
      if (!existsSync(file)) return "none"
      const { condition, tables } = load()
      if (condition !== (await conditionNow())) return "stale"
      const byDigest = Object.fromEntries(
        bulkNames.map((name) => [
          name,
          new Map(tables[name].pages.map(({ digest, location }) => [digest, storedFacts(location, read)])),
        ]),
      ) as Record<BulkName, Map<string, StoredFacts>>
      return {
        ranges: (name) => rangesTo(deserialize(Buffer.from(cipher.open(tables[name].ranges, context(name)), "base64"))),
        facts: (name, digest) => byDigest[name].get(digest),
        isComplete: (name) => tables[name].isComplete,
        pages: (name) => byDigest[name].entries().map(([digest, facts]) => ({ digest, facts })),
      }
    },

    async write(check, compare) {
      const condition = await conditionNow()
      const found = await compare()
      if (condition === undefined) return { found, obstacle: "later changes can only be detected in MySQL and MariaDB" }
      // A concurrent write may change a page that was already compared.
      if (condition !== (await conditionNow())) {
        return { found, obstacle: "another process wrote to the tenant during the comparison" }
      }
      const next = openSync(`${file}.new`, "w", 0o600)
      try {
        let size = 0
        const append = (bytes: Uint8Array) => {
          writeFully(next, bytes, size)
          size += bytes.length
          return size - bytes.length
        }
        const tables = Object.fromEntries(
          bulkNames.map((name) => [name, noteTable(name, { check, found: found[name], append })]),
        ) as Record<BulkName, NotedTable>
        const footer = Buffer.alloc(footerSize)
        footer.writeBigUInt64LE(BigInt(append(serialize({ condition, tables } satisfies Contents))))
        append(footer)
        fsyncSync(next)
      } finally {
        closeSync(next)
      }
      close()
      renameSync(`${file}.new`, file)
      return { found }
    },

    close,
  }

  function noteTable(
    name: BulkName,
    { check, found, append }: { check: Check; found: Differences; append: (bytes: Uint8Array) => number },
  ): NotedTable {
    const pages = check.pages(name)
    const ends = serialize(pages.map(({ range }) => range.upTo)).toString("base64")
    const copied = pages.filter(({ state }) => state === "copied")
    const rows = copied.reduce((sum, { facts }) => sum + facts.rows, 0)
    return {
      ranges: cipher.seal(ends, context(name)),
      isComplete: rows === check.accepted[name] && found.surplus + found.kept === 0,
      pages: copied.map(({ digest, facts }) => ({ digest, location: writeFacts(facts.read(), append) })),
    }
  }
}

/** Returns the ranges that end at these keys. The last range has no end, so that the ranges cover all rows. */
function rangesTo(ends: Range["upTo"][]): Range[] {
  const between = ends.slice(0, -1)
  return [...between, undefined].map((upTo, index) => ({ after: index === 0 ? undefined : between[index - 1], upTo }))
}
