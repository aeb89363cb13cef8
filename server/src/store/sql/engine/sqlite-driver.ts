import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite"
import type { Cell } from "../query/statement.js"
import { StatementError } from "../query/statement-error.js"

type Options = { readonly?: boolean; timeout?: number }

/**
 * Loads the SQLite of Node. It is loaded only if a database needs it, because Node 22 prints a warning then. Throws
 * StatementError.
 */
export function nodeSqlite(): typeof import("node:sqlite") {
  // Node before 22.3 does not have the function.
  const module = process.getBuiltinModule?.("node:sqlite") as typeof import("node:sqlite") | undefined
  if (module === undefined || !("setReturnArrays" in module.StatementSync.prototype))
    throw new StatementError("unavailable", `SQLite needs Node 22.16 or newer; this is ${process.versions.node}`)
  return module
}

/** The SQLite of Node with the interface of better-sqlite3, which TypeORM expects of a driver, as far as it is used here. */
export class SqliteDatabase {
  readonly #database: DatabaseSync

  constructor(path: string, { readonly = false, timeout = 0 }: Options = {}) {
    const { DatabaseSync } = nodeSqlite()
    this.#database = new DatabaseSync(path, { readOnly: readonly, timeout })
  }

  get open(): boolean {
    return this.#database.isOpen
  }

  get inTransaction(): boolean {
    return this.#database.isTransaction
  }

  prepare(sql: string): SqliteStatement {
    return new SqliteStatement(this.#database.prepare(sql))
  }

  pragma(text: string): unknown[] {
    return this.#database.prepare(`PRAGMA ${text}`).all()
  }

  exec(sql: string): void {
    this.#database.exec(sql)
  }

  close(): void {
    this.#database.close()
  }
}

/** A prepared statement. */
export class SqliteStatement {
  readonly #statement: StatementSync
  /** Whether it returns rows. */
  readonly reader: boolean

  constructor(statement: StatementSync) {
    this.#statement = statement
    this.reader = statement.columns().length > 0
  }

  /** Returns the rows as objects. */
  all(...cells: SQLInputValue[]): unknown[] {
    return this.#statement.all(...cells)
  }

  /**
   * Returns the rows as arrays. An integer that a number cannot represent exactly, which the service never stores, becomes
   * the nearest one.
   */
  rows(cells: SQLInputValue[]): Cell[][] {
    this.#statement.setReturnArrays(true)
    const read = () => this.#statement.all(...cells) as unknown as (Cell | Uint8Array | bigint)[][]
    let rows: ReturnType<typeof read>
    try {
      rows = read()
    } catch (error) {
      if ((error as { code?: string }).code !== "ERR_OUT_OF_RANGE") throw error
      // Only a SELECT may run twice. Nothing here writes and returns rows.
      this.#statement.setReadBigInts(true)
      try {
        rows = read()
      } finally {
        this.#statement.setReadBigInts(false)
      }
    }
    for (const row of rows) {
      for (const [index, cell] of row.entries()) {
        if (typeof cell === "bigint") row[index] = Number(cell)
        else if (cell instanceof Uint8Array) row[index] = Buffer.from(cell.buffer, cell.byteOffset, cell.byteLength)
      }
    }
    return rows as Cell[][]
  }

  run(...cells: SQLInputValue[]): { changes: number | bigint; lastInsertRowid: number | bigint } {
    return this.#statement.run(...cells)
  }
}
