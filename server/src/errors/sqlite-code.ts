/** The primary codes of SQLite about its files: https://www.sqlite.org/rescode.html */
const names: Readonly<Record<number, string>> = {
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  8: "SQLITE_READONLY",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  26: "SQLITE_NOTADB",
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

/**
 * Returns the code of an error of libsql. The driver has the empty text for a file that cannot be opened, and a number
 * for most extended codes, which is replaced by the name of the primary code.
 */
export function sqliteCodeOf({ code }: { code?: string }): string | undefined {
  if (code === "") return "SQLITE_CANTOPEN"
  const extended = /^UNKNOWN_SQLITE_ERROR_(\d+)$/.exec(code ?? "")?.[1]
  return extended === undefined ? code : (names[Number(extended) & 0xff] ?? code)
}

/** Returns what an error of SQLite about its file means; undefined for any other error. */
export function fileProblemOf(error: { code?: string }): string | undefined {
  const code = sqliteCodeOf(error)
  return Object.entries(meanings).find(([prefix]) => code?.startsWith(prefix))?.[1]
}
