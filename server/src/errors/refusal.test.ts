import { createRequire } from "node:module"
import { join } from "node:path"
import { describe, expect, test } from "@jest/globals"
import { statementError as mysqlError, failures as mysqlFailures } from "../store/sql/engine/mysql/mysql-errors.js"
import { classes, failures as postgresFailures, statementError } from "../store/sql/engine/postgres/postgres-errors.js"
import { StatementError, storeError } from "../store/sql/query/statement-error.js"
import { refusalOf } from "./refusal.js"

const require = createRequire(import.meta.url)
/** The driver's names of MySQL's errors, which it does not export. */
const names: Record<number, string> = require(
  join(require.resolve("mysql2/package.json"), "../lib/constants/errors.js"),
)
const message = "the server's own words"
const mysqlRefusal = (errno: number, sqlState = "HY000") =>
  refusalOf(mysqlError(Object.assign(new Error(message), { code: names[errno], errno, sqlState })))
const postgresRefusal = (code: string) =>
  refusalOf(statementError(Object.assign(new Error(message), { code, severity: "FATAL" })))

/** The failures that an operator has to do something about. */
const outages = (failures: Iterable<[string | number, string]>) =>
  [...failures].flatMap(([code, failure]) =>
    ["unavailable", "read-only", "locked", "timeout"].includes(failure) ? [code] : [],
  )

describe("every code by which a database fails says what it means, in the server's words, and what to do", () => {
  const said = /^[a-z-].* \(the server's own words, \w+\): \S.*$/

  test.each(outages(mysqlFailures))("%s of MySQL and MariaDB", (errno) => {
    expect(mysqlRefusal(Number(errno))).toMatch(said)
  })

  test.each([...outages(postgresFailures), ...[...classes.keys()].map((one) => `${one}000`)])(
    "%s of PostgreSQL",
    (code) => expect(postgresRefusal(String(code))).toMatch(said),
  )

  test.each(["BUSY", "LOCKED", "READONLY", "IOERR", "CORRUPT", "FULL", "CANTOPEN", "NOTADB"])("SQLITE_%s", (name) =>
    expect(refusalOf(Object.assign(new Error(message), { code: `SQLITE_${name}` }))).toMatch(said),
  )
})

test("of a StoreError, its cause; of an error that nobody knows, its message and code; never a code alone", () => {
  const unknown = new StatementError("fault", "something happened", "XX999")
  expect(refusalOf(unknown)).toBe("something happened (XX999)")
  expect(refusalOf(unknown, { otherwise: "do that" })).toBe("something happened (XX999): do that")
  expect(refusalOf(storeError(new StatementError("unavailable", "no room", "53100")))).toMatch(
    /^the disk is full \(no room, 53100\): free space/,
  )
  expect(refusalOf(Object.assign(new Error(), { code: "EXOTIC" }))).toBe("it failed (EXOTIC)")
  expect(refusalOf(unknown, { quotes: false })).toBe("it failed (XX999)")
  // As Node makes it for a name with several addresses.
  const refused = Object.assign(new AggregateError([]), { code: "ECONNREFUSED" })
  expect(refusalOf(refused)).toMatch(/^no server answers \(ECONNREFUSED\): is the database running/)
})

test("the option that names the database is the one that is asked for", () => {
  const missing = new StatementError("unavailable", 'database "a" does not exist', "3D000")
  expect(refusalOf(missing, { option: "--url" })).toMatch(/or correct --url$/)
})

test("only the first line is repeated, of bounded length, and nothing that quotes a value", () => {
  const secret = "hunter2"
  const long = new StatementError("fault", `${"x".repeat(2000)}\nsecond`, "XX999")
  expect(refusalOf(long).length).toBeLessThan(600)
  for (const [errno, sqlState] of [
    [1062, "23000"],
    [1366, "HY000"],
    [1300, "HY000"],
    [1411, "HY000"],
    [1525, "HY000"],
    [1526, "HY000"],
    [1644, "45000"],
  ] as const) {
    const raw = Object.assign(new Error(secret), { code: names[errno], errno, sqlState })
    for (const error of [raw, mysqlError(raw)]) expect(refusalOf(error)).not.toContain(secret)
  }
  for (const code of ["22001", "23505", "P0001"]) {
    const raw = Object.assign(new Error(secret), { code, severity: "ERROR" })
    for (const error of [raw, statementError(raw)]) expect(refusalOf(error)).not.toContain(secret)
  }
})
