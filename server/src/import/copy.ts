import { StartError } from "../bootstrap/start-error.js"
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
import { ahead } from "./ahead.js"
import type { Check } from "./check.js"
import type { Origin } from "./item.js"

/** How the rows of a table in the database differ from those that go over. */
export interface Differences {
  missing: number
  changed: number
  /** Those that only the database has. */
  surplus: number
}

export type AllDifferences = Record<BulkName, Differences>

export interface CopyOptions {
  tenant: string
  encryptionKeys: readonly Buffer[]
  /** Whether to delete what only the database has. */
  deletes: boolean
  onRows: (count: number) => void
}

export interface Copy {
  /**
   * Makes the database as the origin is. It compares every row and writes those that differ, a page in one transaction:
   * so it may end at any time, and begin again. Returns what there was to do.
   */
  write(): Promise<AllDifferences>
  /** Compares every row again, and writes nothing. */
  compare(): Promise<AllDifferences>
}

export function copy(
  { origin, database, check }: { origin: Origin; database: Database; check: Check },
  { tenant, encryptionKeys, deletes, onRows }: CopyOptions,
): Copy {
  const target = bulk(database, { tenant, encryptionKeys })
  const addresses = addressBook(database, tenant)
  /** A user may be left without an address if its own turn comes, or if it is deleted. */
  const mayClear = (id: string) => deletes || check.has("users", { id } as BulkRows["users"])

  async function writeUsers(difference: Parameters<Bulk["users"]["write"]>[0]) {
    try {
      await target.users.write(difference)
    } catch (error) {
      if (!failsBy(error, "duplicate")) throw error
      const kept = await addresses.free([...difference.missing, ...difference.changed], mayClear)
      if (kept.length > 0) {
        throw new StartError(
          `the e-mail addresses of some users belong to users that only Authwire has: ${kept.join(", ")}; ` +
            "delete these, or import with --delete",
        )
      }
      await target.users.write(difference)
    }
  }

  async function visit<N extends BulkName>(name: N, write: boolean): Promise<Omit<Differences, "surplus">> {
    const admit = check.gate(name)
    const differences = { missing: 0, changed: 0 }
    for await (const items of ahead(origin.pages(name))) {
      const rows = items.map(admit).filter((row) => row !== undefined)
      const difference = await target[name].differences(rows)
      differences.missing += difference.missing.length
      differences.changed += difference.changed.length
      if (write && name === "users") await writeUsers(difference as Parameters<Bulk["users"]["write"]>[0])
      else if (write) await target[name].write(difference)
      onRows(items.length)
    }
    return differences
  }

  async function deleteSurplus<N extends BulkName>(name: N): Promise<number> {
    let deleted = 0
    for await (const rows of target[name].pages()) {
      const surplus = rows.filter((row) => !check.has(name, row))
      await target[name].delete(surplus)
      deleted += surplus.length
    }
    return deleted
  }

  const none = () => ({ missing: 0, changed: 0, surplus: 0 })
  const differences = (): AllDifferences =>
    Object.fromEntries(bulkNames.map((name) => [name, none()])) as AllDifferences

  return {
    async write() {
      const done = differences()
      const [, ...children] = bulkNames
      try {
        // What belongs to a user that goes goes first; the user itself last, when nothing that stays belongs to it any more.
        if (deletes) for (const name of children) done[name].surplus = await deleteSurplus(name)
        for (const name of bulkNames) Object.assign(done[name], await visit(name, true))
        if (deletes) done.users.surplus = await deleteSurplus("users")
      } catch (error) {
        if (!failsBy(error, "no-parent") && !failsBy(error, "duplicate")) throw error
        throw new StartError(
          "a row was changed by somebody else while it was copied; what was done is kept: run it again",
          { cause: error },
        )
      }
      return done
    },

    async compare() {
      const found = differences()
      for (const name of bulkNames) {
        Object.assign(found[name], await visit(name, false))
        const there = await target[name].count()
        found[name].surplus = there - (check.accepted[name] - found[name].missing)
      }
      return found
    },
  }
}
