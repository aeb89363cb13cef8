import { type DataSource, QueryFailedError, type QueryRunner } from "typeorm"
import type { StatementError } from "./statement-error.js"

export interface QueryRunnerOptions<Connection> {
  dataSource: DataSource
  /** Classifies what the driver threw. */
  statementError: (error: unknown) => StatementError
  /** Ends the connection of the runner: what was set on it must not stay in the pool. */
  end: (connection: Connection) => void
}

/** Runs work with a query runner of TypeORM on a server, whose connection is ended then. Throws StatementError. */
export async function withQueryRunnerOf<Connection, T>(
  { dataSource, statementError, end }: QueryRunnerOptions<Connection>,
  work: (runner: QueryRunner) => Promise<T>,
): Promise<T> {
  const runner = dataSource.createQueryRunner()
  let connection: Connection
  try {
    connection = await runner.connect()
  } catch (error) {
    throw statementError(error)
  }
  try {
    return await work(runner)
  } catch (error) {
    throw error instanceof QueryFailedError ? statementError(error.driverError) : error
  } finally {
    end(connection)
    await runner.release()
  }
}
