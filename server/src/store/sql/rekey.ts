import { setTimeout } from "node:timers/promises"
import type { ObjectLiteral } from "typeorm"
import { StoreError } from "../../errors/store-error.js"
import { restMs } from "../../util/rest.js"
import { sealedAccounts, sealedColumns } from "./accounts/sealed-accounts.js"
import { createCipher } from "./cipher.js"
import type { Database } from "./database.js"
import type { Cell, Statement } from "./query/statement.js"
import type { AccountRow, UserRow, WebhookRow } from "./schema/rows.js"
import type { Table } from "./schema/table.js"
import { signingKeyStore } from "./signing-keys.js"
import { privateExtra } from "./users/private-extra.js"
import { alongIndex, type Some } from "./walks/along.js"
import type { Walk } from "./walks/walks.js"
import { webhookSecrets } from "./webhooks/secrets.js"

/** The progress of `rekey`, in numbers of rows: accounts, users with private properties, webhooks, and signing keys. */
export interface RekeyProgress {
  seen: number
  /** Rows that had a value that was sealed with another key than the first one, and were sealed again. */
  resealed: number
  /** Rows with a value that no key decrypts, or that is not sealed. They stay as they are. */
  unreadable: number
}

export interface RekeyOptions {
  /** Keys of 32 bytes each: the first one seals, all of them decrypt. */
  encryptionKeys: readonly Buffer[]
  /** The number of rows that one statement reads. Default 500. */
  batchSize?: number
  /** Called after every batch that has such rows. */
  onProgress?: (progress: Readonly<RekeyProgress>) => void
}

/** The sealed values of a table. */
interface Sealed<Row extends ObjectLiteral, Key extends keyof Row & string> {
  /** The columns, of the table `t`, that `rowOf` expects as the last cells of a row. */
  columns: string
  /** Converts the cells. Returns undefined for a row that has no sealed values and is not counted. */
  rowOf(cells: Cell[]): Omit<Row, Key> | undefined
  /** Selects these columns of the row with the key, and locks it. */
  lock: Statement<Pick<Row, Key>>
  isCurrent(row: Row): boolean
  /** Seals the values with the first key. Throws ENCRYPTION_KEY_MISSING. */
  resealed(row: Row): Row
  /** The properties that this changes. */
  changed: readonly (keyof Row & string)[]
}

/**
 * Seals all values with the first key that are not yet, while other processes use the database: each row is read and
 * written by itself. May be stopped at any time. The next run skips what is done.
 */
export async function rekey(database: Database, options: RekeyOptions): Promise<RekeyProgress> {
  const { encryptionKeys, batchSize = 500, onProgress = () => {} } = options
  const { users, accounts, webhooks } = database.tables
  const cipher = createCipher(encryptionKeys)
  const [ofUsers, ofAccounts, ofWebhooks] = [privateExtra(cipher), sealedAccounts(cipher), webhookSecrets(cipher)]
  const progress: RekeyProgress = { seen: 0, resealed: 0, unreadable: 0 }
  /** The number of rows that are changed at the same time. */
  const concurrency = Math.min(4, database.concurrency)

  async function visitAll<Row extends ObjectLiteral, Key extends keyof Row & string>(
    table: Table<Row, Key>,
    sealed: Sealed<Row, Key>,
  ) {
    const names = table.key.map((property) => `t.${property}`)
    // All rows and not only those with sealed values, so that the statement reads no more rows than it returns.
    const select = [...names, sealed.columns].join(", ")
    const walk: Walk<Row> = { index: "PRIMARY", equal: [], order: table.key }
    const batch = alongIndex(database, table, walk, { alias: "t", select, after: table.key, limit: batchSize })
    // The row itself does not change, so `updated` stays as it is.
    const change = table.updateOf(...sealed.changed).where(table.keyIs())
    const update = table.statement(change, ...table.key, ...sealed.changed)
    const keyOf = (valueFor: (property: Key, index: number) => unknown) =>
      Object.fromEntries(table.key.map((property, index) => [property, valueFor(property, index)])) as Pick<Row, Key>
    const keyIn = (cells: Cell[]) => keyOf((property, index) => table.value(property, cells[index] as Cell))
    const rowOf = (key: Pick<Row, Key>, cells: Cell[]) => {
      const row = sealed.rowOf(cells)
      return row && ({ ...row, ...key } as Row)
    }

    /** Seals the values of a row again. Returns false if the row was deleted or written again meanwhile. */
    const reseal = (key: Pick<Row, Key>) =>
      database.write({}, [table.nameOf(key)], async (sql) => {
        const [cells] = await sql.read(sealed.lock, key)
        const row = cells && rowOf(key, cells)
        if (row === undefined || sealed.isCurrent(row)) return false
        await sql.write(update, sealed.resealed(row))
        return true
      })

    const visit = async (row: Row) => {
      progress.seen++
      if (sealed.isCurrent(row)) return
      try {
        if (await reseal(keyOf((property) => row[property]))) progress.resealed++
      } catch (error) {
        if (!(error instanceof StoreError && error.reason === "ENCRYPTION_KEY_MISSING")) throw error
        progress.unreadable++
      }
    }

    // No tenant is empty, so all rows come after it.
    let after = keyOf(() => "")
    let read: Cell[][]
    do {
      read = await database.reads({}).read(batch, { after: after as Some<Row> })
      const found = table.readable(read, (cells) => rowOf(keyIn(cells), cells))
      const rows = found.filter((row) => row !== undefined)
      const waiting = rows.values()
      const work = async () => {
        for (const row of waiting) {
          const start = performance.now()
          await visit(row)
          // Rests as long as it worked, so that sign-ins have priority. SQLite has no queue for its lock.
          await setTimeout(restMs(start, 1))
        }
      }
      await Promise.all(Array.from({ length: concurrency }, work))
      progress.seen += read.length - found.length
      progress.unreadable += read.length - found.length
      if (rows.length > 0) onProgress(progress)
      const last = read.at(-1)
      if (last !== undefined) after = keyIn(last)
    } while (read.length === batchSize)
  }

  await visitAll<UserRow, "tenant" | "id">(users, {
    columns: "t.privateExtra",
    rowOf(cells) {
      const value = users.value("privateExtra", cells.at(-1) as Cell)
      return value === undefined ? undefined : { privateExtra: value, extra: {} }
    },
    lock: users.withColumnsForUpdate(["u.privateExtra"]),
    isCurrent: ofUsers.isCurrent,
    resealed: (row) => ({ ...row, privateExtra: ofUsers.seal({ ...row, privateExtra: ofUsers.open(row) }) }),
    changed: ["privateExtra"],
  })
  await visitAll<AccountRow, "tenant" | "provider" | "providerAccountId">(accounts, {
    columns: accounts.columns("t"),
    rowOf: (cells) => accounts.row(cells, cells.length - accounts.width),
    lock: accounts.byKeyForUpdate,
    isCurrent: ofAccounts.isCurrent,
    resealed: (row) => ofAccounts.seal(ofAccounts.open(row, row.tenant), row.tenant),
    changed: sealedColumns,
  })
  await visitAll<WebhookRow, "tenant" | "id">(webhooks, {
    columns: `${webhooks.columns("t")}, t.secrets`,
    rowOf: (cells) => {
      const row = webhooks.row(cells, cells.length - webhooks.width - 1)
      return { ...row, secrets: webhooks.value("secrets", cells.at(-1) as Cell) as string }
    },
    lock: webhooks.withColumnsForUpdate(["w.secrets"]),
    isCurrent: ofWebhooks.isCurrent,
    resealed: (row) => ({ ...row, secrets: ofWebhooks.seal(row, ofWebhooks.open(row, row.secrets)) }),
    changed: ["secrets"],
  })
  const ofSigning = await signingKeyStore(database, cipher).reseal({})
  progress.seen += ofSigning.seen
  progress.resealed += ofSigning.resealed
  progress.unreadable += ofSigning.unreadable
  return progress
}
