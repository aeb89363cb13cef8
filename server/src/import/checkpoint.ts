import { hash } from "node:crypto"
import { closeSync, existsSync, fstatSync, fsyncSync, openSync, renameSync } from "node:fs"
import { createRequire } from "node:module"
import { deserialize, serialize } from "node:v8"
import { StartError } from "../bootstrap/start-error.js"
import { type Bulk, type BulkName, bulkNames, type Cipher } from "../store/sql/index.js"
import type { Check, Remembered } from "./check.js"
import type { AllDifferences } from "./copy.js"
import { type FactsPlace, type StoredFacts, storedFacts, writeFacts } from "./facts.js"
import type { Origin, Range } from "./item.js"
import { readFully, writeFully } from "./scratch.js"

// The file begins with the facts of pages, which are read a page at a time. Behind them stand the contents, and in the last
// eight bytes where these begin.

/** What a run leaves to the next one, beside the facts. No row, and no key in the clear. */
interface Contents {
  /** What must be the same for the rest to hold: the version of Authwire, how rows are read, what the target holds. */
  condition: string
  tables: Record<BulkName, NotedTable>
}

interface NotedTable {
  /** Where pages end, sealed: a key may be an address or a token. */
  ranges: string
  /** Whether Authwire has the rows of these pages and no other. */
  isComplete: boolean
  pages: { digest: string; place: FactsPlace }[]
}

const { version } = createRequire(import.meta.url)("@authwire/server/package.json") as { version: string }

const footerSize = 8

export interface CheckpointOptions {
  file: string
  origin: Origin
  /** The tenant that is written. */
  target: Bulk
  cipher: Cipher
}

/** What a comparison has found, and why nothing was noted, if it was not. */
export interface Compared {
  found: AllDifferences
  obstacle?: string | undefined
}

/** The file that one run writes at its end, and the next one reads. */
export interface Checkpoint {
  /**
   * `none` where there is no such file; `stale` where the tenant has been written since, or where rows are read in another
   * way. Throws StartError.
   */
  read(): Promise<Remembered | "none" | "stale">
  /** Compares, and notes those pages that are copied. */
  write(check: Check, compare: () => Promise<AllDifferences>): Promise<Compared>
  /** Closes the file that was read. What is remembered cannot be asked for any more. */
  close(): void
}

export function checkpoint({ file, origin, target, cipher }: CheckpointOptions): Checkpoint {
  const place = (name: BulkName) => ["import checkpoint", name]

  async function conditionNow(): Promise<string | undefined> {
    const fingerprints = await Promise.all(bulkNames.map((name) => target[name].fingerprint()))
    if (fingerprints.includes(undefined)) return undefined
    return hash("sha256", JSON.stringify([version, origin.layout, fingerprints]))
  }

  /** The file that was read. */
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
          new Map(tables[name].pages.map(({ digest, place }) => [digest, storedFacts(place, read)])),
        ]),
      ) as Record<BulkName, Map<string, StoredFacts>>
      return {
        ranges: (name) => rangesTo(deserialize(Buffer.from(cipher.open(tables[name].ranges, place(name)), "base64"))),
        facts: (name, digest) => byDigest[name].get(digest),
        isComplete: (name) => tables[name].isComplete,
        pages: (name) => byDigest[name].entries().map(([digest, facts]) => ({ digest, facts })),
      }
    },

    async write(check, compare) {
      const condition = await conditionNow()
      const found = await compare()
      if (condition === undefined)
        return { found, obstacle: "only MySQL and MariaDB can tell whether they change later" }
      // What is written meanwhile may be in a page that was compared before.
      if (condition !== (await conditionNow())) {
        return { found, obstacle: "something else wrote into the tenant during the comparison" }
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
          bulkNames.map((name) => [name, noteTable(name, { check, surplus: found[name].surplus, append })]),
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
    { check, surplus, append }: { check: Check; surplus: number; append: (bytes: Uint8Array) => number },
  ): NotedTable {
    const pages = check.pages(name)
    const ends = serialize(pages.map(({ range }) => range.upTo)).toString("base64")
    const copied = pages.filter(({ state }) => state === "copied")
    const rows = copied.reduce((sum, { facts }) => sum + facts.rows, 0)
    return {
      ranges: cipher.seal(ends, place(name)),
      isComplete: rows === check.accepted[name] && surplus === 0,
      pages: copied.map(({ digest, facts }) => ({ digest, place: writeFacts(facts.read(), append) })),
    }
  }
}

/** The parts that end at these keys, the last of which is open: all rows are in one of them. */
function rangesTo(ends: Range["upTo"][]): Range[] {
  const between = ends.slice(0, -1)
  return [...between, undefined].map((upTo, index) => ({ after: index === 0 ? undefined : between[index - 1], upTo }))
}
