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
  1811: "SQLITE_CONSTRAINT_TRIGGER",
  2067: "SQLITE_CONSTRAINT_UNIQUE",
}

/** Returns the name of the code of an error of SQLite, or of an error that was made of one. */
export function sqliteCodeOf({ code, errcode }: { code?: unknown; errcode?: unknown }): string | undefined {
  if (typeof errcode === "number") return names[errcode] ?? names[errcode & 0xff] ?? `SQLITE_${errcode}`
  // The code of a program that has ended is a number.
  return typeof code === "string" ? code : undefined
}
