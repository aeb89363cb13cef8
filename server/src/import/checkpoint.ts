import { hash } from "node:crypto"
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { deserialize, serialize } from "node:v8"
import { StartError } from "../bootstrap/start-error.js"
import { type Bulk, type BulkName, bulkNames, type Cipher } from "../store/sql/index.js"
import type { Check, Remembered } from "./check.js"
import type { AllDifferences } from "./copy.js"
import type { PageFacts } from "./facts.js"
import type { Origin, Range } from "./item.js"

/** What a run leaves to the next one. No row, and no key in the clear. */
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
  pages: { digest: string; facts: PageFacts }[]
}

const { version } = createRequire(import.meta.url)("@authwire/server/package.json") as { version: string }

export interface CheckpointOptions {
  file: string
  origin: Origin
  /** The tenant that is written. */
  target: Bulk
  cipher: Cipher
}

/** The file that one run writes at its end, and the next one reads. */
export interface Checkpoint {
  /**
   * `none` where there is no such file; `stale` where the tenant has been written since, or where rows are read in another
   * way. Throws StartError.
   */
  read(): Promise<Remembered | "none" | "stale">
  /**
   * Notes those pages that are copied.
   *
   * @param found - What the comparison has found.
   * @returns false where the database cannot tell whether it changes later: then nothing is noted.
   */
  write(check: Check, found: AllDifferences): Promise<boolean>
}

export function checkpoint({ file, origin, target, cipher }: CheckpointOptions): Checkpoint {
  const place = (name: BulkName) => ["import checkpoint", name]

  async function conditionNow(): Promise<string | undefined> {
    const fingerprints = await Promise.all(bulkNames.map((name) => target[name].fingerprint()))
    if (fingerprints.includes(undefined)) return undefined
    return hash("sha256", JSON.stringify([version, origin.layout, fingerprints]))
  }

  function load(): Contents {
    try {
      return deserialize(readFileSync(file)) as Contents
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
        bulkNames.map((name) => [name, new Map(tables[name].pages.map(({ digest, facts }) => [digest, facts]))]),
      ) as Record<BulkName, Map<string, PageFacts>>
      return {
        ranges: (name) => rangesTo(deserialize(Buffer.from(cipher.open(tables[name].ranges, place(name)), "base64"))),
        facts: (name, digest) => byDigest[name].get(digest),
        isComplete: (name) => tables[name].isComplete,
        pages: (name) => tables[name].pages,
      }
    },

    async write(check, found) {
      const condition = await conditionNow()
      if (condition === undefined) return false
      const tables = Object.fromEntries(
        bulkNames.map((name): [BulkName, NotedTable] => {
          const pages = check.pages(name)
          const ends = serialize(pages.map(({ range }) => range.upTo)).toString("base64")
          const copied = pages.filter(({ state }) => state === "copied")
          const rows = copied.reduce((sum, { facts }) => sum + facts.keys.length, 0)
          return [
            name,
            {
              ranges: cipher.seal(ends, place(name)),
              isComplete: rows === check.accepted[name] && found[name].surplus === 0,
              pages: copied.map(({ digest, facts }) => ({ digest, facts })),
            },
          ]
        }),
      ) as Record<BulkName, NotedTable>
      writeFileSync(`${file}.new`, serialize({ condition, tables } satisfies Contents), { mode: 0o600 })
      renameSync(`${file}.new`, file)
      return true
    },
  }
}

/** The parts that end at these keys, the last of which is open: all rows are in one of them. */
function rangesTo(ends: Range["upTo"][]): Range[] {
  const between = ends.slice(0, -1)
  return [...between, undefined].map((upTo, index) => ({ after: index === 0 ? undefined : between[index - 1], upTo }))
}
