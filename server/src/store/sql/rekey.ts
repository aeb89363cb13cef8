import { setTimeout } from "node:timers/promises"
import { StoreError } from "../../errors/store-error.js"
import type { Account } from "../types.js"
import { sealedAccounts, sealedColumns } from "./accounts/sealed-accounts.js"
import { createCipher } from "./cipher.js"
import type { Database } from "./database.js"
import type { Cell } from "./query/statement.js"
import type { AccountRow } from "./schema/rows.js"

/** The progress of `rekey`, in numbers of accounts. */
export interface RekeyProgress {
  seen: number
  /** Accounts that had a value that was not sealed with the first key, and were sealed again. */
  resealed: number
  /** Accounts with a value that is not sealed, and stays as it is. */
  plain: number
  /** Accounts that no key decrypts. They stay as they are. */
  unreadable: number
}

export interface RekeyOptions {
  /** Keys of 32 bytes each: the first one seals, all of them decrypt. */
  encryptionKeys: readonly Buffer[]
  /**
   * Whether values that are not sealed are sealed, as those of a version without encryption. Default: they are only
   * counted, because somebody with access to the database may have put them there.
   */
  plain?: boolean
  /** The number of accounts that one statement reads. Default 500. */
  batchSize?: number
  /** The number of accounts that are changed at the same time. Default 4; on SQLite, which has one writer, 1. */
  concurrency?: number
  /** Called after every batch. */
  onProgress?: (progress: Readonly<RekeyProgress>) => void
}

/**
 * Seals all values with the first key that are not yet, while other processes use the database: each account is read
 * and written in its own transaction. May be stopped at any time. The next run skips what is done.
 */
export async function rekey(database: Database, options: RekeyOptions): Promise<RekeyProgress> {
  const { encryptionKeys, plain = false, batchSize = 500, onProgress = () => {} } = options
  const { concurrency = database.engine === "sqlite" ? 1 : 4 } = options
  const { accounts } = database.tables
  const sealed = sealedAccounts(createCipher(encryptionKeys))
  const open = plain ? sealed.openPlain : sealed.open
  const progress: RekeyProgress = { seen: 0, resealed: 0, plain: 0, unreadable: 0 }
  const batch = () =>
    accounts
      .selectFrom("a")
      .select(`a.tenant, ${accounts.columns("a")}`)
      .orderBy("a.tenant")
      .addOrderBy("a.provider")
      .addOrderBy("a.providerAccountId")
      .limit(batchSize)
  const firstBatch = accounts.statement(batch())
  // Written out, because MySQL does not use the index for (a, b, c) > (?, ?, ?).
  const nextBatch = accounts.statement(
    batch()
      .where("a.tenant > :tenant")
      .orWhere("(a.tenant = :tenant AND a.provider > :provider)")
      .orWhere("(a.tenant = :tenant AND a.provider = :provider AND a.providerAccountId > :providerAccountId)"),
    ...accounts.key,
  )

  // The account itself does not change, so `updated` stays as it is.
  const updateSealed = accounts.statement(
    accounts.updateOf(...sealedColumns).where(accounts.keyIs()),
    ...accounts.key,
    ...sealedColumns,
  )

  const reseal = (tenant: string, { provider, providerAccountId }: Account) => {
    const key = { tenant, provider, providerAccountId }
    return database.transaction({}, [accounts.nameOf(key)], async (sql) => {
      const row = accounts.first(await sql.read(accounts.byKeyForUpdate, key))
      // The account was unlinked or written again meanwhile.
      if (row === null || sealed.isCurrent(row)) return false
      await sql.write(updateSealed, sealed.seal(open(row, tenant), tenant))
      return true
    })
  }

  const visit = async (tenant: string, cells: Cell[]) => {
    progress.seen++
    const [row] = accounts.readable([cells], (one) => accounts.row(one, 1))
    if (row === undefined) progress.unreadable++
    if (row === undefined || sealed.isCurrent(row)) return
    try {
      if (await reseal(tenant, row)) progress.resealed++
    } catch (error) {
      if (!(error instanceof StoreError && error.reason === "ENCRYPTION_KEY_MISSING")) throw error
      if (!plain && sealed.hasPlain(row)) progress.plain++
      else progress.unreadable++
    }
  }

  let last: Pick<AccountRow, "tenant" | "provider" | "providerAccountId"> | undefined
  for (;;) {
    const sql = database.reads({})
    const rows: Cell[][] = await (last === undefined ? sql.read(firstBatch, {}) : sql.read(nextBatch, last))
    const waiting = rows.values()
    const work = async () => {
      for (const cells of waiting) {
        const start = performance.now()
        await visit(String(cells[0]), cells)
        // Rests as long as it worked, so that sign-ins have priority. SQLite has no queue for its lock.
        await setTimeout(performance.now() - start)
      }
    }
    await Promise.all(Array.from({ length: concurrency }, work))
    onProgress(progress)
    const end = rows.at(-1)
    if (end === undefined || rows.length < batchSize) return progress
    const [provider, providerAccountId] = [
      accounts.valueIn("provider", end.slice(1)),
      accounts.valueIn("providerAccountId", end.slice(1)),
    ]
    last = { tenant: String(end[0]), provider, providerAccountId }
  }
}
