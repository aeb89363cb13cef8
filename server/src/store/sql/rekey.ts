import { setTimeout } from "node:timers/promises"
import { StoreError } from "../../errors/store-error.js"
import { sealedAccounts, sealedColumns } from "./accounts/sealed-accounts.js"
import { type Cipher, createCipher } from "./cipher.js"
import type { Database } from "./database.js"
import { type Cell, statement } from "./query/statement.js"
import type { AccountRow, UserRow } from "./schema/rows.js"
import { privateExtra } from "./users/private-extra.js"

/** The progress of `rekey`, in numbers of rows: accounts, and users with private properties. */
export interface RekeyProgress {
  seen: number
  /** Rows that had a value that was not sealed, or sealed with another key than the first one, and were sealed again. */
  resealed: number
  /** Rows that no key decrypts. They stay as they are. */
  unreadable: number
}

export interface RekeyOptions {
  /** Keys of 32 bytes each: the first one seals, all of them decrypt. */
  encryptionKeys: readonly Buffer[]
  /** The number of rows that one statement reads. Default 500. */
  batchSize?: number
  /** The number of rows that are changed at the same time. Default 4; on SQLite, which has one writer, 1. */
  concurrency?: number
  /** Called after every batch that has such rows. */
  onProgress?: (progress: Readonly<RekeyProgress>) => void
}

/** The rows of a table that have sealed values. */
interface SealedRows<Row> {
  /** Returns the rows that follow a row in the order of the keys; undefined: the first ones. */
  batch(last: Row | undefined): Promise<Row[]>
  /** Whether the row has sealed values at all. */
  has(row: Row): boolean
  isCurrent(row: Row): boolean
  /** Seals the values of a row again. Returns false if the row was deleted or written again meanwhile. */
  reseal(row: Row): Promise<boolean>
}

/**
 * Seals all values with the first key that are not yet, while other processes use the database: each row is read and
 * written by itself. May be stopped at any time. The next run skips what is done.
 */
export async function rekey(database: Database, options: RekeyOptions): Promise<RekeyProgress> {
  const { encryptionKeys, batchSize = 500, onProgress = () => {} } = options
  const { concurrency = database.engine === "sqlite" ? 1 : 4 } = options
  const cipher = createCipher(encryptionKeys)
  const progress: RekeyProgress = { seen: 0, resealed: 0, unreadable: 0 }

  async function visit<Row>(sealed: SealedRows<Row>, row: Row) {
    progress.seen++
    if (sealed.isCurrent(row)) return
    try {
      if (await sealed.reseal(row)) progress.resealed++
    } catch (error) {
      if (!(error instanceof StoreError && error.reason === "ENCRYPTION_KEY_MISSING")) throw error
      progress.unreadable++
    }
  }

  async function visitAll<Row>(sealed: SealedRows<Row>) {
    let last: Row | undefined
    for (;;) {
      const rows = await sealed.batch(last)
      const some = rows.filter(sealed.has)
      const waiting = some.values()
      const work = async () => {
        for (const row of waiting) {
          const start = performance.now()
          await visit(sealed, row)
          // Rests as long as it worked, so that sign-ins have priority. SQLite has no queue for its lock.
          await setTimeout(performance.now() - start)
        }
      }
      await Promise.all(Array.from({ length: concurrency }, work))
      if (some.length > 0) onProgress(progress)
      last = rows.at(-1)
      if (last === undefined || rows.length < batchSize) return
    }
  }

  await visitAll(sealedRowsOfUsers(database, cipher, batchSize))
  await visitAll(sealedRowsOfAccounts(database, cipher, batchSize))
  return progress
}

type UserKey = Pick<UserRow, "tenant" | "id" | "privateExtra">

function sealedRowsOfUsers(database: Database, cipher: Cipher, batchSize: number): SealedRows<UserKey> {
  const { users } = database.tables
  const sealed = privateExtra(cipher)
  // All users and not only those with private properties, so that a statement reads no more rows than it returns.
  const batch = () =>
    users
      .selectFrom("u")
      .select("u.tenant, u.id, u.privateExtra")
      .orderBy("u.tenant")
      .addOrderBy("u.id")
      .limit(batchSize)
  const firstBatch = users.statement(batch())
  const nextBatch = users.statement(
    batch().where("u.tenant > :tenant").orWhere("(u.tenant = :tenant AND u.id > :id)"),
    ...users.key,
  )
  const update = statement<UserRow, UserKey & { read: string | undefined }>(
    users.updateOf("privateExtra").where(`${users.keyIs()} AND privateExtra = :read`),
    {
      tenant: ({ tenant }) => users.cell("tenant", tenant),
      id: ({ id }) => users.cell("id", id),
      privateExtra: ({ privateExtra }) => users.cell("privateExtra", privateExtra),
      read: ({ read }) => users.cell("privateExtra", read),
    },
  )
  return {
    async batch(last) {
      const sql = database.reads({})
      const rows: Cell[][] = await (last === undefined ? sql.read(firstBatch, {}) : sql.read(nextBatch, last))
      return rows.map(([tenant, id, text]) => ({
        tenant: users.value("tenant", tenant as Cell),
        id: users.value("id", id as Cell),
        privateExtra: users.value("privateExtra", text as Cell),
      }))
    },
    has: (row) => row.privateExtra !== undefined,
    isCurrent: sealed.isCurrent,
    async reseal(row) {
      const resealed = sealed.seal({ ...row, privateExtra: sealed.open(row) })
      const values = { ...row, privateExtra: resealed, read: row.privateExtra }
      return (await database.writes({}, [users.nameOf(row)], (sql) => sql.write(update, values))) > 0
    },
  }
}

function sealedRowsOfAccounts(database: Database, cipher: Cipher, batchSize: number): SealedRows<AccountRow> {
  const { accounts } = database.tables
  const sealed = sealedAccounts(cipher)
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
  const update = accounts.statement(
    accounts.updateOf(...sealedColumns).where(accounts.keyIs()),
    ...accounts.key,
    ...sealedColumns,
  )
  return {
    async batch(last) {
      const sql = database.reads({})
      const rows: Cell[][] = await (last === undefined ? sql.read(firstBatch, {}) : sql.read(nextBatch, last))
      return rows.map((cells) => ({ ...accounts.row(cells, 1), tenant: accounts.value("tenant", cells[0] as Cell) }))
    },
    has: () => true,
    isCurrent: sealed.isCurrent,
    reseal(key) {
      return database.transaction({}, [accounts.nameOf(key)], async (sql) => {
        const row = accounts.first(await sql.read(accounts.byKeyForUpdate, key))
        // The account was unlinked or written again meanwhile.
        if (row === null || sealed.isCurrent(row)) return false
        await sql.write(update, sealed.seal(sealed.open(row, key.tenant), key.tenant))
        return true
      })
    },
  }
}
