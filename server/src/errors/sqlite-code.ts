/** The primary codes of SQLite that have a meaning here, and extended codes of constraints: https://www.sqlite.org/rescode.html */
const names: Readonly<Record<number, string>> = {
  1: "SQLITE_ERROR",
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  8: "SQLITE_READONLY",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  19: "SQLITE_CONSTRAINT",
  26: "SQLITE_NOTADB",
  787: "SQLITE_CONSTRAINT_FOREIGNKEY",
  1299: "SQLITE_CONSTRAINT_NOTNULL",
  1555: "SQLITE_CONSTRAINT_PRIMARYKEY",
  2067: "SQLITE_CONSTRAINT_UNIQUE",
}

/** What the codes about files mean for the person who chose the file. */
const meanings: Readonly<Record<string, string>> = {
  SQLITE_BUSY: "another process has locked the file",
  SQLITE_LOCKED: "another connection has locked the file",
  SQLITE_READONLY:
    "the file or its folder cannot be written, and SQLite writes next to a file with a write-ahead log even to read it",
  SQLITE_IOERR: "the file, or one next to it, cannot be read or written",
  SQLITE_CORRUPT: "the file is damaged",
  SQLITE_FULL: "the disk is full",
  SQLITE_CANTOPEN: "the file, or one next to it, cannot be opened",
  SQLITE_NOTADB: "the file is not a database of SQLite",
}

/** Returns the name of the code of an error of SQLite, or of an error that was made of one. */
export function sqliteCodeOf({ code, errcode }: { code?: unknown; errcode?: unknown }): string | undefined {
  if (typeof errcode === "number") return names[errcode] ?? names[errcode & 0xff] ?? `SQLITE_${errcode}`
  // The code of a program that has ended is a number.
  return typeof code === "string" ? code : undefined
}

/** Returns what an error of SQLite about its file means; undefined for any other error. */
export function fileProblemOf(error: { code?: unknown; errcode?: unknown }): string | undefined {
  const code = sqliteCodeOf(error)
  return Object.entries(meanings).find(([prefix]) => code?.startsWith(prefix))?.[1]
}
