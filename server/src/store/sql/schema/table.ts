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
import { type Cell, type Change, itemParameters, type Statement, statement, textOf } from "../query/statement.js"
import { type ChangeOf, changesOfRows, insertsInto } from "./changes.js"
import type { Dialect } from "./dialect.js"
import { presentTenant } from "./present-tenants.js"
import { ofPresentUser, presentUser } from "./present-users.js"
import { type OnUnreadable, type RowReader, rowReader } from "./row-reader.js"

type Column = EntityMetadata["columns"][number]

/**
 * A table: its statements, and the conversion between rows and cells. It is created from an entity, whose column types
 * define how values are stored. TypeORM's query builder writes the statements, using property names for columns. It
 * does not run them, because it would build each statement anew for every call and hydrate every row through several
 * layers, and its `save` reads before it writes.
 */
export interface Table<Row extends ObjectLiteral, Key extends keyof Row> extends RowReader<Row> {
  /** The name of the entity, which query builders use for the table. */
  readonly entity: string
  /** The name of the table in the database. */
  readonly name: string
  /** The properties of the primary key. */
  readonly key: readonly Key[]
  /** The number of columns in `columns`. */
  readonly width: number
  /** Inserts a row. Fails with "no-parent" if its tenant does not exist or is being deleted; see present-tenants.ts. */
  readonly insert: Statement<Row>
  /**
   * Creates the insert of a row, for statements that make several changes. Fails with "no-parent" also if the row belongs to
   * a user that is being deleted or is disabled.
   */
  insertion(row: Row): Change
  /**
   * Creates inserts of rows of users that fail with "no-parent" also unless a condition holds about the user `o`.
   *
   * @param name distinguishes them from `insertion`.
   */
  insertionIf(name: string, condition: string): ChangeOf<Row>
  /** Creates inserts that fail with "no-parent" also if the tenant was created after the time in a property of the row. */
  insertionSince(property: keyof Row & string): ChangeOf<Row>
  /** Returns the statement that inserts `count` rows. */
  insertMany(count: number): Statement<readonly Row[]>
  /**
   * Updates the row with the key: all columns except the key, those that never change, and those with their own
   * statements.
   */
  readonly update: Statement<Row>
  /** Deletes the row with the key. */
  readonly delete: Statement<Pick<Row, Key>>
  /** Selects `columns` of the row with the key, unless it or its user is being deleted. */
  readonly byKey: Statement<Pick<Row, Key>>
  /**
   * Selects like `byKey`, and locks the row until the transaction ends. Fails at once if another transaction has locked
   * it.
   */
  readonly byKeyForUpdate: Statement<Pick<Row, Key>>
  /**
   * Creates a statement like `byKeyForUpdate` that selects these expressions as well. The alias is the first letter of the
   * table's name.
   */
  withColumnsForUpdate(expressions: readonly string[]): Statement<Pick<Row, Key>>
  /**
   * Creates deletions of the row with the key that apply only if the row is as it was read: `cells` are those of
   * `columns`. A deletion fails with "unmatched" if the row has changed or is gone. Throws a TypeError for a table with
   * columns that may change and be null, because a comparison with null is never true.
   */
  deletionIfUnchanged(): ChangeOf<Pick<Row, Key> & { cells: readonly Cell[] }>
  /**
   * Creates changes that set a property of the row with the key to null. A change has no effect, and holds no lock, if
   * the property is null already or there is no such row.
   */
  erasure(property: keyof Row & string): ChangeOf<Pick<Row, Key>>
  /**
   * Creates changes of the row with the key that set a time one second later, or earlier. Only for MySQL and MariaDB, if the time is
   * never null.
   */
  shift(property: keyof Row & string, sign: "+" | "-"): ChangeOf<Pick<Row, Key>>
  /**
   * Returns the condition that finds a row by its key: `a.tenant = :tenant AND a.id = :id`, or without `a.` if no alias
   * is given.
   */
  keyIs(alias?: string): string
  /** Returns the columns that `row` expects, in its order: `u.id, u.email, …`. */
  columns(alias: string): string
  /**
   * Returns the expression of the size of a row, in bytes: that of the texts in `columns` which may be long. The databases know the
   * size of a long text without reading it, except MySQL and MariaDB, which do not send it.
   */
  bytes(alias: string): string
  /** Begins a SELECT of `columns`. */
  selectFrom(alias: string): SelectQueryBuilder<Row>
  /** Begins an UPDATE that sets each property to the parameter of the same name. */
  updateOf(...properties: (keyof Row & string)[]): UpdateQueryBuilder<Row>
  /** Begins a DELETE. */
  deleteFrom(): DeleteQueryBuilder<Row>
  /** Creates a statement whose parameters have the names of properties and are converted like the columns of these. */
  statement<Name extends keyof Row = never>(
    builder: QueryBuilder<ObjectLiteral>,
    ...parameters: Name[]
  ): Statement<Pick<Row, Name>>
  /** Converts the first row that a SELECT of `columns` found. */
  first(rows: Cell[][]): Row | null
  /** Converts the value of a property to its cell. */
  cell<Name extends keyof Row>(name: Name, value: Row[Name]): Cell
  /**
   * Returns the name by which writers take turns on the row with the key. Keys with the same bytes have the same name.
   */
  nameOf(key: Pick<Row, Key>): string
}

export interface TableOptions<Row> {
  /** Columns that `update` does not change, because they have their own statements. Default: none. */
  notUpdated?: readonly (keyof Row & string)[]
  /** Whether each row belongs to a user, by `tenant` and `userId`. Default: false. */
  isOfUser?: boolean
  /** Whether each row is inserted only together with another write, which depends on the tenant. Default: false. */
  isOfWrite?: boolean
}

/** Creates the table of an entity. */
export function tableOf<Row extends ObjectLiteral, Key extends keyof Row & string>(
  dataSource: DataSource,
  entity: EntitySchema<Row>,
  { dialect, onUnreadable }: { dialect: Dialect; onUnreadable: OnUnreadable },
  { notUpdated = [], isOfUser = false, isOfWrite = false }: TableOptions<Row>,
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
  const reader = rowReader<Row>({ driver, tableName, columns: all, selected, columnOf, onUnreadable })
  /** Returns the functions that make the cells of parameters, which have the names of properties. */
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
  const bytes = (alias: string) =>
    ["0", ...textsIn(selected).map((property) => `COALESCE(OCTET_LENGTH(${alias}.${property}), 0)`)].join(" + ")
  const query = () => dataSource.createQueryBuilder()
  const selectFrom = (alias: string) => query().select(columns(alias)).from<Row>(name, alias)
  const updateOf = (...properties: string[]) => query().update<Row>(name).set(expressionsOf(properties))
  const deleteFrom = () => query().delete().from<Row>(name)

  // Columns that the database sets are not inserted.
  const properties = propertiesOf(all.filter((column) => !column.isGenerated && column.isInsert)) as (keyof Row &
    string)[]
  const others = propertiesOf(all.filter((column) => !column.isPrimary && column.isUpdate)).filter(
    (property) => !notUpdated.includes(property),
  )
  const isOfTenant = byProperty.has("tenant") && !isOfUser && !isOfWrite
  /** Expressions of a row for which the insert fails if its tenant does not exist or is being deleted. */
  const ofTenant = (all: readonly string[], suffix = "", since?: string) => ({
    ...expressionsOf(all, suffix),
    ...(isOfTenant && { tenant: () => presentTenant(`:tenant${suffix}`, dialect, since && `:${since}${suffix}`) }),
  })
  const insert = built(query().insert().into<Row>(name).values(ofTenant(properties)), ...properties)
  const inserting =
    (expressions: typeof expressionsOf) =>
    (count: number): Statement<readonly Row[]> => {
      const { parameters, names } = itemParameters(count, (rows: readonly Row[]) => rows, parametersOf(properties))
      const values = names.map((_, index) => expressions(properties, String(index)))
      return statement(query().insert().into<Row>(name).values(values), parameters)
    }
  const insertMany = inserting(ofTenant)
  /** The same, for which the insert fails also if its user is being deleted or is disabled. */
  const guarded =
    (condition?: string) =>
    (all: readonly string[], suffix = "") => ({
      ...ofTenant(all, suffix),
      ...(isOfUser && { userId: () => presentUser(`:tenant${suffix}`, `:userId${suffix}`, dialect, condition) }),
    })
  const insertsOf = (kind: string, expressions: typeof expressionsOf) => {
    const one = built(query().insert().into<Row>(name).values(expressions(properties)), ...properties)
    return insertsInto(tableName, kind, one, inserting(expressions))
  }
  const alias = tableName.slice(0, 1)
  const lock = (select: SelectQueryBuilder<Row>) => dialect.locking(select, "fail")
  const selectByKey = () => {
    const select = selectFrom(alias).where(keyIs(alias))
    return isOfUser ? select.andWhere(ofPresentUser(`${alias}.tenant`, `${alias}.userId`)) : select
  }
  const byKey = built(selectByKey(), ...key)

  return {
    entity: name,
    name: tableName,
    key,
    width: selected.length,
    insert,
    insertion: insertsOf("insert", guarded()),
    insertionIf: (kind, condition) => insertsOf(kind, guarded(condition)),
    insertionSince: (property) => insertsOf("insert since", (all, suffix) => ofTenant(all, suffix, property)),
    insertMany,
    update: built(updateOf(...others).where(keyIs()), ...key, ...(others as (keyof Row & string)[])),
    delete: built(deleteFrom().where(keyIs()), ...key),
    byKey,
    byKeyForUpdate: built(lock(selectByKey()), ...key),
    withColumnsForUpdate: (more) => built(lock(selectByKey().select([columns(alias), ...more].join(", "))), ...key),
    deletionIfUnchanged() {
      const mayChange = selected.filter((column) => column.isUpdate)
      const nullable = mayChange.find((column) => column.isNullable)
      if (nullable !== undefined) throw new TypeError(`${name}.${nullable.propertyName} may be null`)
      // The conditions are inside a CASE so that only the primary key's index can find rows. By any other index the
      // statement could meet the lock of another row. A table of a few dozen rows is scanned as a whole nevertheless if
      // a statement makes several changes.
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
    erasure: (property) =>
      changesOfRows<Pick<Row, Key>>(tableName, {
        name: `clear ${property} of`,
        condition: (suffix) => `${keyIs(undefined, suffix)} AND ${property} IS NOT NULL`,
        parameters: parametersOf(key),
        where: (condition) => query().update<Row>(name).set(nullOf(property)).where(condition),
        mustMatch: false,
      }),
    shift: (property, sign) =>
      changesOfRows<Pick<Row, Key>>(tableName, {
        name: `${sign} ${property} of`,
        condition: (suffix) => keyIs(undefined, suffix),
        parameters: parametersOf(key),
        where: (condition) =>
          query()
            .update<Row>(name)
            .set({ [property]: () => `${property} ${sign} INTERVAL 1 SECOND` } as object)
            .where(condition),
        mustMatch: false,
      }),
    keyIs,
    columns,
    bytes,
    selectFrom,
    updateOf,
    deleteFrom,
    statement: built,
    first: ([cells]) => (cells === undefined ? null : reader.row(cells)),
    ...reader,
    cell: (property, value) => toCell(columnOf(property), value),
    nameOf: (values) => `${tableName} ${textOf(byKey.cells(values))}`,
  }
}

function propertiesOf(columns: readonly Column[]): string[] {
  return columns.map(({ propertyName }) => propertyName)
}

/** The properties of texts without a small limit. On SQLite and PostgreSQL these are all texts. */
function textsIn(columns: readonly Column[]): string[] {
  return propertiesOf(columns.filter(({ type }) => String(type).endsWith("text")))
}

/**
 * Assigns each property the parameter of the same name, with a suffix if there are several rows. A query builder treats
 * a function as an expression and anything else as a value.
 */
function expressionsOf(properties: readonly string[], suffix = ""): object {
  return Object.fromEntries(properties.map((property) => [property, () => `:${property}${suffix}`]))
}

function nullOf(property: string): object {
  return { [property]: () => "NULL" }
}
