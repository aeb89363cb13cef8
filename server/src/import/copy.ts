import { StartError } from "../errors/start-error.js"
import {
  addressBook,
  type Bulk,
  type BulkName,
  type BulkRows,
  bulk,
  bulkNames,
  type Database,
  failsBy,
} from "../store/sql/index.js"
import type { Check } from "./check.js"
import { ahead, type ImportSource } from "./item.js"

/** The numbers of rows in which a table of the database differs from the importable rows. */
export interface Differences {
  missing: number
  changed: number
  /** The number of rows that only the database has. */
  surplus: number
  /** The number of rows that the database has and that were skipped in the source. Only `compare` counts them. */
  kept: number
}

/** The rows of a table of the tenant that have not expired. */
export interface Surplus {
  /** The number of all of them. */
  held: number
  /** The number of those that only the database has. */
  surplus: number
}

export type AllDifferences = Record<BulkName, Differences>

export interface CopyOptions {
  tenant: string
  encryptionKeys: readonly Buffer[]
  /** Whether to delete the rows that only the database has. */
  deletes: boolean
  onRows: (count: number) => void
}

export interface Copy {
  /** Counts the rows that a copy with `deletes` would delete. Writes nothing. */
  surplus(): Promise<Record<BulkName, Surplus>>
  /**
   * Makes the database equal to the source. Compares every row and writes those that differ, with one transaction per
   * page. The copy may therefore be interrupted at any time and started again.
   */
  write(): Promise<void>
  /** The differences that `write` has removed, also if it failed. */
  readonly written: AllDifferences
  /** Compares every row again and writes nothing. */
  compare(): Promise<AllDifferences>
}

export function copy(
  { source, database, check }: { source: ImportSource; database: Database; check: Check },
  { tenant, encryptionKeys, deletes, onRows }: CopyOptions,
): Copy {
  const target = bulk(database, { tenant, encryptionKeys })
  const addresses = addressBook(database, tenant)
  const userOf = (id: string) => ({ id }) as BulkRows["users"]
  const isSkippedUser = (id: string) => check.skips("users", userOf(id))
  /** A user may lose its address temporarily if it is written later or deleted. */
  const mayClear = (id: string) => check.has("users", userOf(id)) || (deletes && !isSkippedUser(id))

  /** Whether a row of the database stays as it is, because the source has it and its user, but it was skipped. */
  function isKept<N extends BulkName>(name: N, row: BulkRows[N]): boolean {
    if (!check.skips(name, row)) return false
    return !("userId" in row) || check.has("users", userOf(row.userId)) || isSkippedUser(row.userId)
  }

  async function writeUsers(difference: Parameters<Bulk["users"]["write"]>[0]) {
    try {
      await target.users.write(difference)
    } catch (error) {
      if (!failsBy(error, "duplicate")) throw error
      const kept = await addresses.free([...difference.missing, ...difference.changed], mayClear)
      if (kept.length > 0) {
        throw new StartError(
          `since the check, other users of the tenant got e-mail addresses of the source: ${kept.join(", ")}; ` +
            "run the command again, which reports them",
        )
      }
      await target.users.write(difference)
    }
  }

  /** Yields the importable rows of each page. */
  async function* pages<N extends BulkName>(name: N) {
    const admit = check.gate(name)
    for await (const page of ahead(source.pages(name))) {
      const isSound = check.isSound(name, page)
      const rows = page.items(isSound).map((item) => admit(item, isSound))
      // A page that has not changed since the check was verified there.
      yield { rows: rows.filter((row) => row !== undefined), verify: isSound ? undefined : page.verify }
      onRows(page.length)
    }
  }

  async function* differencesOf<N extends BulkName>(name: N) {
    const isEmpty = (await target[name].count()) === 0
    for await (const { rows } of pages(name)) {
      yield isEmpty ? { missing: rows, changed: [] } : await target[name].differences(rows)
    }
  }

  async function writePages<N extends BulkName>(name: N) {
    for await (const difference of ahead(differencesOf(name))) {
      if (name === "users") await writeUsers(difference as Parameters<Bulk["users"]["write"]>[0])
      else await target[name].write(difference)
      written[name].missing += difference.missing.length
      written[name].changed += difference.changed.length
    }
  }

  async function comparePages<N extends BulkName>(name: N): Promise<Pick<Differences, "missing" | "changed">> {
    const differences = { missing: 0, changed: 0 }
    for await (const { rows, verify } of pages(name)) {
      await verify?.()
      const { missing, changed } = await target[name].differences(rows)
      differences.missing += missing.length
      differences.changed += changed.length
    }
    return differences
  }

  const isSurplus = <N extends BulkName>(name: N, key: BulkRows[N]) => !check.has(name, key) && !isKept(name, key)

  async function countSurplus<N extends BulkName>(name: N): Promise<Surplus> {
    const counted = { held: 0, surplus: 0 }
    const now = new Date(database.now())
    for await (const keys of target[name].keys()) {
      const held = keys.filter((key) => !("expires" in key) || key.expires > now)
      counted.held += held.length
      counted.surplus += held.filter((key) => isSurplus(name, key)).length
    }
    return counted
  }

  async function deleteSurplus<N extends BulkName>(name: N) {
    for await (const keys of target[name].keys()) {
      const surplus = keys.filter((key) => isSurplus(name, key))
      await target[name].delete(surplus)
      written[name].surplus += surplus.length
    }
  }

  async function countKept<N extends BulkName>(name: N): Promise<number> {
    if (check.skipped[name] === 0) return 0
    let kept = 0
    for await (const keys of target[name].keys()) kept += keys.filter((key) => isKept(name, key)).length
    return kept
  }

  const none = () => ({ missing: 0, changed: 0, surplus: 0, kept: 0 })
  const differences = (): AllDifferences =>
    Object.fromEntries(bulkNames.map((name) => [name, none()])) as AllDifferences
  const written = differences()

  return {
    written,

    async surplus() {
      const counted = {} as Record<BulkName, Surplus>
      for (const name of bulkNames) counted[name] = await countSurplus(name)
      return counted
    },

    async write() {
      const [, ...children] = bulkNames
      try {
        // Rows that belong to a surplus user are deleted first. The users are deleted last, because no remaining row
        // refers to them then.
        if (deletes) for (const name of children) await deleteSurplus(name)
        for (const name of bulkNames) await writePages(name)
        if (deletes) await deleteSurplus("users")
      } catch (error) {
        if (!failsBy(error, "no-parent") && !failsBy(error, "duplicate")) throw error
        throw new StartError(
          "another process changed a row while it was copied; rows that were written are kept: run the command again",
          { cause: error },
        )
      }
    },

    async compare() {
      const found = differences()
      for (const name of bulkNames) {
        Object.assign(found[name], await comparePages(name))
        const others = (await target[name].count()) - (check.accepted[name] - found[name].missing)
        found[name].kept = others === 0 ? 0 : await countKept(name)
        found[name].surplus = others - found[name].kept
      }
      return found
    },
  }
}
