import type { DataSource, EntityMetadata, EntitySchema, ObjectLiteral } from "typeorm"
import type { ApiKey, Tenant } from "../types.js"
import type { AccountRow, AuthenticatorRow, Entities, SessionRow, UserRow, VerificationTokenRow } from "./entities.js"

type Column = EntityMetadata["columns"][number]

/** A value as the driver takes and gives it. */
export type Cell = string | number | Buffer | Date | null

/**
 * A table as statements need it: names of columns, and rows to and from cells. Made from an entity, whose column types
 * say how a value is kept. It exists because the statements are written out: the ORM would hydrate every row through
 * several layers, and its `save` reads before it writes.
 */
export interface Table<Row, Key extends keyof Row> {
  /** How many columns `columns` names. */
  readonly width: number
  /** INSERT with a parameter for every column. */
  readonly insert: string
  /** UPDATE of all columns but the key, of the row with the key. */
  readonly update: string
  /** `tenant = ? AND id = ?`: the condition that selects one row by its key. */
  readonly keyIs: string
  /** The condition that a row is as it was read, with the cells of `columns` as parameters, none of which is null. */
  readonly isAsRead: string
  /** The columns that `row` expects, in its order: `u.id, u.email, …`. */
  columns(alias: string): string
  /** Makes a row of the cells from index `from` on. A column that is null becomes a property that is undefined. */
  row(cells: Cell[], from?: number): Row
  /** The first of the rows that a SELECT of `columns` found. */
  first(rows: Cell[][]): Row | null
  /** The parameter for one column. */
  cell<Name extends keyof Row>(name: Name, value: Row[Name]): Cell
  /** The parameters of `keyIs`; other properties are ignored. */
  keyCells(key: Pick<Row, Key>): Cell[]
  /** Names the row with the key, the same for the same bytes: for those who write it. */
  nameOf(key: Pick<Row, Key>): string
  insertCells(row: Row): Cell[]
  updateCells(row: Row): Cell[]
}

/** The tables of a data source that was opened with the entities of its engine. */
export function tables(dataSource: DataSource, entities: Entities) {
  return {
    users: table<UserRow, "tenant" | "id">(dataSource, entities.users),
    accounts: table<AccountRow, "tenant" | "provider" | "providerAccountId">(dataSource, entities.accounts),
    sessions: table<SessionRow, "tenant" | "tokenHash">(dataSource, entities.sessions),
    verificationTokens: table<VerificationTokenRow, "tenant" | "identifier" | "tokenHash">(
      dataSource,
      entities.verificationTokens,
    ),
    authenticators: table<AuthenticatorRow, "tenant" | "credentialID">(dataSource, entities.authenticators),
    tenants: table<Tenant, "name">(dataSource, entities.tenants),
    apiKeys: table<ApiKey, "id">(dataSource, entities.apiKeys),
  }
}

export type Tables = ReturnType<typeof tables>

function table<Row extends ObjectLiteral, Key extends keyof Row>(
  dataSource: DataSource,
  entity: EntitySchema<Row>,
): Table<Row, Key> {
  const { driver } = dataSource
  const metadata = dataSource.getMetadata(entity)
  const all = metadata.columns
  const selected = all.filter((column) => column.isSelect)
  const keys = metadata.primaryColumns
  const others = all.filter((column) => !column.isPrimary)
  const assign = (column: Column) => `${column.databaseName} = ?`
  const keyIs = keys.map(assign).join(" AND ")

  const toCell = (column: Column, value: unknown): Cell => driver.preparePersistentValue(value, column) ?? null
  const toCells = (columns: Column[], row: Readonly<ObjectLiteral>) =>
    columns.map((column) => toCell(column, row[column.propertyName]))
  const toRow = (cells: Cell[], from = 0): Row => {
    const row: ObjectLiteral = {}
    for (const [index, column] of selected.entries()) {
      row[column.propertyName] = driver.prepareHydratedValue(cells[from + index], column) ?? undefined
    }
    return row as Row
  }

  return {
    width: selected.length,
    insert: `INSERT INTO ${metadata.tableName} (${all.map((column) => column.databaseName).join(", ")}) VALUES (${all.map(() => "?").join(", ")})`,
    update: `UPDATE ${metadata.tableName} SET ${others.map(assign).join(", ")} WHERE ${keyIs}`,
    keyIs,
    isAsRead: selected.map(assign).join(" AND "),
    columns: (alias) => selected.map((column) => `${alias}.${column.databaseName}`).join(", "),
    row: toRow,
    first: ([cells]) => (cells === undefined ? null : toRow(cells)),
    cell(name, value) {
      const column = metadata.findColumnWithPropertyName(String(name))
      if (column === undefined) throw new TypeError(`no column ${String(name)}`)
      return toCell(column, value)
    },
    keyCells: (key) => toCells(keys, key),
    nameOf: (key) => `${metadata.tableName} ${textOf(toCells(keys, key))}`,
    insertCells: (row) => toCells(all, row),
    updateCells: (row) => [...toCells(others, row), ...toCells(keys, row)],
  }
}

/** The same text for the same bytes, and for no others. */
export function textOf(cells: readonly Cell[]): string {
  return cells.map((cell) => (Buffer.isBuffer(cell) ? `${cell.length}:${cell.toString("latin1")}` : cell)).join()
}
