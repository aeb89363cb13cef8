import { describe, expect, test } from "@jest/globals"
import { refusalOf } from "../../../../errors/refusal.js"
import { statementError } from "./mysql-errors.js"

// As vtgate 24 writes them.
describe("an error of Vitess", () => {
  const target = "target: authwire.0.primary: "
  const tablet = (code: string, text: string) => `${target}vttablet: rpc error: code = ${code} desc = ${text}`
  const statement =
    ' (CallerID: userData1): Sql: "select :v1 from users", BindVars: {v1: "type:VARCHAR value:\\"secret code = Unknown desc = \\""}'

  const names = new Map([
    [1105, "ER_UNKNOWN_ERROR"],
    [1317, "ER_QUERY_INTERRUPTED"],
  ])

  const failing = (errno: number, message: string, sqlState = "HY000") =>
    statementError(Object.assign(new Error(message), { code: names.get(errno), errno, sqlState }))

  test.each([
    [
      "without a primary",
      1105,
      `${target}no healthy tablet available for 'keyspace:"authwire" shard:"0" tablet_type:PRIMARY'`,
    ],
    [
      "while a primary is elected",
      1105,
      `${target}primary is not serving, there may be a reparent operation in progress`,
    ],
    ["of a tablet that stops", 1105, tablet("Code(17)", "operation not allowed in state SHUTTING_DOWN")],
    [
      "of a tablet that is a replica now",
      1105,
      tablet("FailedPrecondition", "wrong tablet type: PRIMARY, want: REPLICA or []"),
    ],
    [
      "of a tablet that has no server",
      1105,
      tablet("Unavailable", "tx engine can't accept new connections in state NotServing"),
    ],
    [
      "of a transaction whose tablet is gone",
      1105,
      `VT15001: transaction error, issue ROLLBACK and retry the transaction: ${tablet("Unavailable", "connection refused")}`,
    ],
    ["of a connection of vtgate", 1105, "VT14003: no connection for tablet test-0000000001"],
    [
      "of a server that is gone",
      2006,
      tablet("Unavailable", `conn 21: Write(packet) failed (errno 2006) (sqlstate HY000)${statement}`),
    ],
    ["of a lost connection", 2013, tablet("Canceled", `EOF (errno 2013) (sqlstate HY000)${statement}`)],
    [
      "of a transaction that was ended",
      1317,
      tablet("Aborted", "transaction 1: ended at 2026-11-29 (exceeded timeout: 30s)"),
    ],
  ])("%s means that the database cannot be reached, and says what to do", (_, errno, message) => {
    const error = failing(errno, message)
    expect(error.failure).toBe("unavailable")
    expect(refusalOf(error)).toMatch(/\): \S/)
  })

  test("of a statement that a tablet has ended is a timeout", () => {
    expect(failing(1317, tablet("DeadlineExceeded", "context deadline exceeded"), "70100").failure).toBe("timeout")
  })

  test.each([
    "syntax error at position 12 near 'USER'",
    "VT09005: no database selected",
    tablet("Unknown", `something else${statement.replace("Unknown", "Unavailable")}`),
  ])("of a statement is a fault: %s", (message) => expect(failing(1105, message).failure).toBe("fault"))

  test("never contains the values of the statement", () => {
    const { failure, message } = failing(
      1054,
      tablet("NotFound", `Unknown column 'x' (errno 1054) (sqlstate 42S22)${statement}`),
      "42S22",
    )
    expect(failure).toBe("fault")
    expect(message).toBe(tablet("NotFound", "Unknown column 'x' (errno 1054) (sqlstate 42S22)"))
  })

  test("about foreign keys says which settings allow them", () => {
    const error = failing(1317, "VT10001: foreign key constraints are not allowed", "70100")
    expect(refusalOf(error)).toMatch(/^vtgate allows no foreign keys .*--foreign-key-mode/)
  })
})
