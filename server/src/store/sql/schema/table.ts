import type {
  DataSource,
  DeleteQueryBuilder,
  EntityMetadata,
  EntitySchema,
  ObjectLiteral,
  QueryBuilder,
  SelectQueryBuilder,
  UpdateQueryBuilder,
} from "typeorm"
import type { ApiKey, Tenant } from "../../types.js"
import { type Cell, type Change, type Statement, statement } from "../query/statement.js"
import { type ChangeOf, changesOfRows, insertsInto } from "./changes.js"
import {
  type AccountRow,
  type AuthenticatorRow,
  type CacheRow,
  type Entities,
  type EventHeadRow,
  type EventRow,
  type IdempotencyKeyRow,
  type LeaseRow,
  refreshColumns,
  type SessionRow,
  type UserRow,
  type VerificationTokenRow,
} from "./entities.js"

type Column = EntityMetadata["columns"][number]

/** Makes a SELECT lock its rows until the transaction ends, or fail at once if somebody else has. */
export type Lock = <Row extends ObjectLiteral>(select: SelectQueryBuilder<Row>) => SelectQueryBuilder<Row>

/**
 * A table as the store needs it: its statements, and rows to and from cells. Made from an entity, whose column types
 * say how a value is kept. TypeORM's query builder writes the statements, with the names of properties in place of those
 * of columns. It does not run them: it would build each anew for every call and hydrate every row through several layers,
 * and its `save` reads before it writes.
 */
export interface Table<Row extends ObjectLiteral, Key extends keyof Row> {
  /** The name of the entity, by which builders know the table. */
  readonly entity: string
  /** As the database names it. */
  readonly name: string
  /** The properties of the key. */
  readonly key: readonly Key[]
  /** How many columns `columns` names. */
  readonly width: number
  readonly insert: Statement<Row>
  /** A row that is inserted beside other statements. */
  inserted(row: Row): Change
  /** Inserts so many rows. */
  insertMany(count: number): Statement<readonly Row[]>
  /** Changes all columns of the row with the key but the key, those that never change, and those with statements of their own. */
  readonly update: Statement<Row>
  /** Deletes the row with the key. */
  readonly delete: Statement<Pick<Row, Key>>
  /** Selects `columns` of the row with the key. */
  readonly byKey: Statement<Pick<Row, Key>>
  /** The same, with the row locked until the transaction ends; it fails at once if somebody else has locked it. */
  readonly byKeyForUpdate: Statement<Pick<Row, Key>>
  /**
   * Deletes the row with the key while it is as it was read: `cells` are those of `columns`. It fails by "unmatched" when the
   * row is another one, or gone. Throws a TypeError for a table whose columns may change and be null, because null equals nothing.
   */
  deletedAsRead(): ChangeOf<Pick<Row, Key> & { cells: readonly Cell[] }>
  /** Sets a property of the row with the key to null. It changes nothing, and keeps no lock, where it is null or there is no such row. */
  cleared(property: keyof Row & string): ChangeOf<Pick<Row, Key>>
  /** `a.tenant = :tenant AND a.id = :id`: the condition that finds one row by its key. Without an alias where it has none. */
  keyIs(alias?: string): string
  /** The columns that `row` expects, in its order: `u.id, u.email, …`. */
  columns(alias: string): string
  /** Begins a SELECT of `columns`. */
  selectFrom(alias: string): SelectQueryBuilder<Row>
  /** Begins an UPDATE that sets each property to the parameter of its name. */
  updateOf(...properties: (keyof Row & string)[]): UpdateQueryBuilder<Row>
  /** Begins a DELETE. */
  deleteFrom(): DeleteQueryBuilder<Row>
  /** A statement whose parameters are named as properties of this table, by whose columns they are kept. */
  statement<Name extends keyof Row = never>(
    builder: QueryBuilder<ObjectLiteral>,
    ...parameters: Name[]
  ): Statement<Pick<Row, Name>>
  /** Makes a row of the cells from index `from` on. A column that is null becomes a property that is undefined. */
  row(cells: Cell[], from?: number): Row
  /** The first of the rows that a SELECT of `columns` found. */
  first(rows: Cell[][]): Row | null
  /** What is kept of one property. */
  cell<Name extends keyof Row>(name: Name, value: Row[Name]): Cell
  /** What a cell of one property says. */
  value<Name extends keyof Row>(name: Name, cell: Cell): Row[Name]
  /** Names the row with the key, the same for the same bytes: for those who write it. */
  nameOf(key: Pick<Row, Key>): string
}

/** The tables of a data source that was opened with the entities of its engine. */
export function tables(dataSource: DataSource, entities: Entities, lock: Lock) {
  return {
    users: table<UserRow, "tenant" | "id">(dataSource, entities.users, lock),
    accounts: table<AccountRow, "tenant" | "provider" | "providerAccountId">(
      dataSource,
      entities.accounts,
      lock,
      refreshColumns,
    ),
    sessions: table<SessionRow, "tenant" | "tokenHash">(dataSource, entities.sessions, lock),
    verificationTokens: table<VerificationTokenRow, "tenant" | "identifier" | "tokenHash">(
      dataSource,
      entities.verificationTokens,
      lock,
    ),
    authenticators: table<AuthenticatorRow, "tenant" | "credentialID">(dataSource, entities.authenticators, lock),
    idempotencyKeys: table<IdempotencyKeyRow, "tenant" | "keyHash">(dataSource, entities.idempotencyKeys, lock),
    events: table<EventRow, "id">(dataSource, entities.events, lock),
    eventHead: table<EventHeadRow, "name">(dataSource, entities.eventHead, lock),
    caches: table<CacheRow, "tenant" | "process">(dataSource, entities.caches, lock),
    tenants: table<Tenant, "name">(dataSource, entities.tenants, lock),
    apiKeys: table<ApiKey, "id">(dataSource, entities.apiKeys, lock),
    leases: table<LeaseRow, "name">(dataSource, entities.leases, lock),
  }
}

export type Tables = ReturnType<typeof tables>

/** @param apart columns that `update` leaves alone, because statements of their own change them. */
function table<Row extends ObjectLiteral, Key extends keyof Row & string>(
  dataSource: DataSource,
  entity: EntitySchema<Row>,
  lock: Lock,
  apart: readonly (keyof Row & string)[] = [],
): Table<Row, Key> {
  const { driver } = dataSource
  const { name, tableName, columns: all, primaryColumns } = dataSource.getMetadata(entity)
  const selected = all.filter((column) => column.isSelect)
  const byProperty = new Map(all.map((column) => [column.propertyName, column]))
  const columnOf = (property: PropertyKey): Column => {
    const column = byProperty.get(String(property))
    if (column === undefined) throw new TypeError(`${name} has no column ${String(property)}`)
    return column
  }

  const toCell = (column: Column, value: unknown): Cell => driver.preparePersistentValue(value, column) ?? null
  const toValue = (column: Column, cell: Cell | undefined) => driver.prepareHydratedValue(cell, column) ?? undefined
  const toRow = (cells: Cell[], from = 0): Row => {
    const row: ObjectLiteral = {}
    for (const [index, column] of selected.entries()) row[column.propertyName] = toValue(column, cells[from + index])
    return row as Row
  }
  /** For parameters that are named as properties, what makes their cells. */
  const parametersOf = <Name extends keyof Row>(properties: readonly Name[]) => {
    const makers = properties.map((property) => {
      const column = columnOf(property)
      return [property, (values: Pick<Row, Name>) => toCell(column, values[property])]
    })
    return Object.fromEntries(makers)
  }
  const built = <Name extends keyof Row = never>(builder: QueryBuilder<ObjectLiteral>, ...properties: Name[]) =>
    statement<ObjectLiteral, Pick<Row, Name>>(builder, parametersOf(properties))

  const key = propertiesOf(primaryColumns) as Key[]
  const keyIs = (alias?: string, suffix = "") =>
    key.map((property) => `${alias === undefined ? "" : `${alias}.`}${property} = :${property}${suffix}`).join(" AND ")
  const columns = (alias: string) => selected.map(({ propertyName }) => `${alias}.${propertyName}`).join(", ")
  const query = () => dataSource.createQueryBuilder()
  const selectFrom = (alias: string) => query().select(columns(alias)).from<Row>(name, alias)
  const updateOf = (...properties: string[]) => query().update<Row>(name).set(expressionsOf(properties))
  const deleteFrom = () => query().delete().from<Row>(name)

  // What the database makes is not given.
  const properties = propertiesOf(all.filter((column) => !column.isGenerated)) as (keyof Row & string)[]
  const others = propertiesOf(all.filter((column) => !column.isPrimary && column.isUpdate)).filter(
    (property) => !apart.includes(property),
  )
  const insert = built(query().insert().into<Row>(name).values(expressionsOf(properties)), ...properties)
  const insertMany = (count: number): Statement<readonly Row[]> => {
    const indexes = Array.from({ length: count }, (_, index) => index)
    const parameters = indexes.flatMap((index) =>
      properties.map((property) => {
        const column = columnOf(property)
        return [`${property}${index}`, (rows: readonly Row[]) => toCell(column, rows[index]?.[property])]
      }),
    )
    const values = indexes.map((index) => expressionsOf(properties, String(index)))
    return statement(query().insert().into<Row>(name).values(values), Object.fromEntries(parameters))
  }
  const alias = tableName.slice(0, 1)
  const selectByKey = () => selectFrom(alias).where(keyIs(alias))
  const byKey = built(selectByKey(), ...key)

  return {
    entity: name,
    name: tableName,
    key,
    width: selected.length,
    insert,
    inserted: insertsInto(tableName, insert, insertMany),
    insertMany,
    update: built(updateOf(...others).where(keyIs()), ...key, ...(others as (keyof Row & string)[])),
    delete: built(deleteFrom().where(keyIs()), ...key),
    byKey,
    byKeyForUpdate: built(lock(selectByKey()), ...key),
    deletedAsRead() {
      const mayChange = selected.filter((column) => column.isUpdate)
      const nullable = mayChange.find((column) => column.isNullable)
      if (nullable !== undefined) throw new TypeError(`${name}.${nullable.propertyName} may be null`)
      // Inside of a CASE, where no index but that of the key finds anything: the row of another one may be locked. A table of a
      // few dozen rows is read whole all the same, by a statement for several.
      const isAsRead = (suffix: string) =>
        `CASE WHEN ${mayChange.map(({ propertyName: name }) => `${name} = :${name}AsRead${suffix}`).join(" AND ")} THEN 1 END = 1`
      const cells = mayChange.map((column) => [
        `${column.propertyName}AsRead`,
        (values: { cells: readonly Cell[] }) => values.cells[selected.indexOf(column)] as Cell,
      ])
      return changesOfRows<Pick<Row, Key> & { cells: readonly Cell[] }>(tableName, {
        name: "delete",
        condition: (suffix) => `${keyIs(undefined, suffix)} AND ${isAsRead(suffix)}`,
        parameters: { ...parametersOf(key), ...Object.fromEntries(cells) },
        where: (condition) => deleteFrom().where(condition),
        mustMatch: true,
      })
    },
    cleared: (property) =>
      changesOfRows<Pick<Row, Key>>(tableName, {
        name: `clear ${property} of`,
        condition: (suffix) => `${keyIs(undefined, suffix)} AND ${property} IS NOT NULL`,
        parameters: parametersOf(key),
        where: (condition) => query().update<Row>(name).set(nullOf(property)).where(condition),
        mustMatch: false,
      }),
    keyIs,
    columns,
    selectFrom,
    updateOf,
    deleteFrom,
    statement: built,
    row: toRow,
    first: ([cells]) => (cells === undefined ? null : toRow(cells)),
    cell: (property, value) => toCell(columnOf(property), value),
    value: (property, cell) => toValue(columnOf(property), cell),
    nameOf: (values) => `${tableName} ${textOf(byKey.cells(values))}`,
  }
}

function propertiesOf(columns: readonly Column[]): string[] {
  return columns.map(({ propertyName }) => propertyName)
}

/**
 * Gives each property the parameter of its name, with something behind it where there are several rows. A function is an
 * expression to a query builder, anything else a value.
 */
function expressionsOf(properties: readonly string[], suffix = ""): object {
  return Object.fromEntries(properties.map((property) => [property, () => `:${property}${suffix}`]))
}

function nullOf(property: string): object {
  return { [property]: () => "NULL" }
}

/** The same text for the same bytes, and for no others. */
export function textOf(cells: readonly Cell[]): string {
  return cells
    .map((cell) => {
      if (Buffer.isBuffer(cell)) return `${cell.length}:${cell.toString("latin1")}`
      return typeof cell === "string" ? `${cell.length}:${cell}` : cell
    })
    .join()
}
