import type { Database } from "../../../server/src/store/sql/index.js"
import type { Statement, Statements } from "../../../server/src/store/sql/query/statement.js"
import type { Ran } from "./plans.js"

/**
 * Returns a database that records every statement that it runs, except those that insert events.
 *
 * @param options.changes Whether writes are executed. Otherwise they match no row, so each statement finds the same
 * rows.
 */
export function recordingDatabase(database: Database, recorded: Ran[], options: { changes: boolean }): Database {
  const noting =
    <T>(run: <Values>(statement: Statement<Values>, values: Values) => Promise<T>) =>
    <Values>(statement: Statement<Values>, values: Values) => {
      recorded.push([statement.sql, statement.cells(values), statement.along])
      return run(statement, values)
    }
  const recording = <T extends Statements>(sql: T): T => {
    const own: Statements = {
      read: noting((statement, values) => sql.read(statement, values)),
      write: noting(options.changes ? (statement, values) => sql.write(statement, values) : async () => 0),
      change: async (changes) => {
        for (const { kind, sql, cells } of changes) if (kind !== "insert events") recorded.push([sql, cells])
        if (options.changes) await sql.change(changes)
      },
    }
    // It is still a transaction of the store.
    return new Proxy(sql, {
      get: (target, name) => Reflect.get(own, name) ?? (Reflect.get(target, name) as () => unknown).bind(target),
    })
  }
  return {
    ...database,
    readAside: (waiter, ...read) =>
      noting((statement, values) => database.readAside(waiter, statement, values))(...read),
    reads: (waiter) => ({ read: noting(database.reads(waiter).read) }),
    olderReads: (waiter) => ({ read: noting(database.olderReads(waiter).read) }),
    write: (waiter, rows, work) => database.write(waiter, rows, (sql) => work(recording(sql))),
  }
}
