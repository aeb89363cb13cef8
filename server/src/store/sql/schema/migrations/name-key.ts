/**
 * The form in which the beginnings of names are compared, as expressions: without white space at the beginning, with ASCII
 * letters in lower case, and no longer than 128 characters, because an index entry has a limited length. The database
 * computes it, so that it is right for names that others write too. An index uses these expressions, so a change of one needs
 * a migration.
 */
export const nameKeyCharacters = 128

const whiteSpace = [9, 10, 11, 12, 13]
const upperCase = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"]

const replaced = (text: string, from: string, to: string) => `replace(${text}, ${from}, ${to})`

/**
 * For MySQL and MariaDB. LOWER() would fold every letter of Unicode. The function that trims knows no white space but
 * spaces, so it is only asked how many characters there are before the name.
 */
function serverNameKey(name: string): string {
  // With literals of control characters, MariaDB did not find some of them.
  const character = (code: number) => `char(${code} using utf8mb4)`
  const spaces = whiteSpace.reduce((text, code) => replaced(text, character(code), character(32)), name)
  const begin = `char_length(${name}) - char_length(ltrim(${spaces})) + 1`
  return upperCase.reduce(
    (text, letter) => replaced(text, `_utf8mb4 '${letter}'`, `_utf8mb4 '${letter.toLowerCase()}'`),
    `substring(${name}, ${begin}, ${nameKeyCharacters})`,
  )
}

export const nameKey = {
  server: serverNameKey,
  /** SQLite's lower() folds ASCII letters only. */
  sqlite: (name: string) =>
    `substr(lower(ltrim(${name}, char(${[...whiteSpace, 32].join(", ")}))), 1, ${nameKeyCharacters})`,
  /** With the collation "C", which the column has, lower() folds ASCII letters only. */
  postgres: (name: string) => `left(lower(ltrim(${name}, E'\\t\\n\\013\\f\\r ')), ${nameKeyCharacters})`,
}

/**
 * How the index of the names of users is made. SQLite and PostgreSQL index the expression. MariaDB cannot, so MySQL and
 * MariaDB have a column with it, which they compute themselves. It is stored, because InnoDB has to recompute the entries
 * of an index on a virtual column whenever it cleans up old versions of a row.
 */
export const addNameKey = {
  /** Parts of `ALTER TABLE`. */
  server:
    `ADD COLUMN name_key VARBINARY(512) GENERATED ALWAYS AS (${nameKey.server("name")}) STORED,` +
    " ADD INDEX users_name_key (tenant, name_key, id)",
  sqlite: `CREATE INDEX users_name_key ON users (tenant, ${nameKey.sqlite("name")}, id)`,
  postgres: `CREATE INDEX users_name_key ON users (tenant, (${nameKey.postgres("name")}), id)`,
}
