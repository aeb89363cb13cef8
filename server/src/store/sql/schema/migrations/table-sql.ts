/** How a database writes the types and defaults of columns. */
export interface ColumnTypes {
  quote(name: string): string
  /** Text that is compared byte for byte, of at most so many bytes in UTF-8. */
  key(bytes: number): string
  /** 32 bytes. */
  readonly hash: string
  string(characters: number): string
  /** Text of up to 65,535 bytes. */
  readonly text: string
  /** Text of up to 16 MiB, such as JSON. */
  readonly longText: string
  readonly time: string
  /** The time of a row's last change. */
  readonly changed: string
  readonly double: string
  readonly uint32: string
  readonly boolean: string
  /** An integer that JavaScript represents exactly. */
  readonly whole: string
  /** A primary key that the database counts. */
  readonly counted: string
  /** The present time. */
  readonly now: string
  /** 32 random hexadecimal digits. */
  readonly handle: string
  /** Further statements: triggers that set `changed` of API keys where the type alone does not. */
  readonly further: readonly string[]
}

const exact = (type: string) => `${type} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`

/** MySQL and MariaDB. */
export const mysqlTypes: ColumnTypes = {
  quote: (name) => `\`${name}\``,
  key: (bytes) => `VARBINARY(${bytes})`,
  hash: "BINARY(32)",
  string: (characters) => exact(`VARCHAR(${characters})`),
  text: exact("TEXT"),
  longText: exact("MEDIUMTEXT"),
  time: "DATETIME(3)",
  changed: "DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3)",
  double: "DOUBLE",
  uint32: "INT UNSIGNED",
  boolean: "TINYINT(1)",
  whole: "BIGINT",
  counted: "BIGINT AUTO_INCREMENT PRIMARY KEY",
  now: "CURRENT_TIMESTAMP(3)",
  handle: "(HEX(RANDOM_BYTES(16)))",
  further: [],
}

const quoted = (name: string) => `"${name}"`

const sqliteNow = "(strftime('%Y-%m-%d %H:%M:%f', 'now'))"
const setChanged = `BEGIN UPDATE api_keys SET changed = ${sqliteNow} WHERE id = NEW.id; END`

export const sqliteTypes: ColumnTypes = {
  quote: quoted,
  key: () => "text",
  hash: "blob",
  string: () => "text",
  text: "text",
  longText: "text",
  time: "datetime",
  // The triggers set it. SQLite could not add a column whose default is an expression.
  changed: "datetime DEFAULT '1000-01-01 00:00:00.000'",
  double: "double",
  uint32: "integer",
  boolean: "boolean",
  whole: "integer",
  counted: "integer PRIMARY KEY AUTOINCREMENT",
  now: sqliteNow,
  handle: "(hex(randomblob(16)))",
  further: [
    `CREATE TRIGGER api_keys_inserted AFTER INSERT ON api_keys ${setChanged}`,
    `CREATE TRIGGER api_keys_updated AFTER UPDATE ON api_keys WHEN NEW.changed IS OLD.changed ${setChanged}`,
  ],
}

const ordered = (type: string) => `${type} COLLATE "C"`

export const postgresTypes: ColumnTypes = {
  quote: quoted,
  key: () => ordered("text"),
  hash: "bytea",
  string: (characters) => ordered(`varchar(${characters})`),
  text: ordered("text"),
  longText: ordered("text"),
  time: "timestamptz(3)",
  changed: "timestamptz(3) DEFAULT now()",
  double: "double precision",
  uint32: "bigint",
  boolean: "boolean",
  whole: "bigint",
  counted: "bigserial PRIMARY KEY",
  now: "now()",
  handle: "upper(replace(gen_random_uuid()::text, '-', ''))",
  further: [
    "CREATE FUNCTION authwire_api_key_changed() RETURNS trigger LANGUAGE plpgsql AS" +
      " $$ BEGIN NEW.changed := clock_timestamp(); RETURN NEW; END $$",
    "CREATE TRIGGER api_keys_changed BEFORE INSERT OR UPDATE ON api_keys" +
      " FOR EACH ROW EXECUTE FUNCTION authwire_api_key_changed()",
  ],
}

type Names = readonly string[]

/** The columns, keys and indexes of a table. */
export interface TableSql {
  /** The columns that are not null, with their types. */
  readonly columns: Readonly<Record<string, string>>
  readonly nullable?: Readonly<Record<string, string>>
  /** The primary key, unless a column is declared as one. */
  readonly key?: Names
  readonly unique?: Readonly<Record<string, Names>>
  readonly indexes?: Readonly<Record<string, Names>>
  /** The foreign key. It does not cascade. */
  readonly reference?: { readonly name: string; readonly columns: Names; readonly table: string; readonly key: Names }
}

/**
 * Returns the statements that create a table and its indexes.
 *
 * @param prefix Precedes the names of tables.
 * @param options Follow the declaration.
 */
export function createTable(
  { quote }: ColumnTypes,
  name: string,
  { columns, nullable = {}, key, unique = {}, indexes = {}, reference }: TableSql,
  { prefix = "", options = "" } = {},
): string[] {
  const list = (names: Names) => names.map(quote).join(", ")
  const table = quote(prefix + name)
  const parts = [
    ...Object.entries(columns).map(([column, type]) => `${quote(column)} ${type} NOT NULL`),
    ...Object.entries(nullable).map(([column, type]) => `${quote(column)} ${type} NULL`),
  ]
  if (reference !== undefined) {
    const target = `${quote(prefix + reference.table)} (${list(reference.key)})`
    const columns = list(reference.columns)
    const rules = "ON DELETE NO ACTION ON UPDATE NO ACTION"
    parts.push(`CONSTRAINT ${quote(reference.name)} FOREIGN KEY (${columns}) REFERENCES ${target} ${rules}`)
  }
  if (key !== undefined) parts.push(`PRIMARY KEY (${list(key)})`)
  const createIndex =
    (kind: string) =>
    ([index, names]: [string, Names]) =>
      `CREATE ${kind} ${quote(index)} ON ${table} (${list(names)})`
  return [
    `CREATE TABLE ${table} (${parts.join(", ")}) ${options}`,
    ...Object.entries(unique).map(createIndex("UNIQUE INDEX")),
    ...Object.entries(indexes).map(createIndex("INDEX")),
  ]
}
