import { type DataSource, QueryFailedError, type QueryRunner } from "typeorm"
import type { StatementError } from "../query/statement-error.js"

export interface QueryRunnerOptions<Connection> {
  dataSource: DataSource
  /** Classifies an error of the driver. */
  statementError: (error: unknown) => StatementError
  /** Ends the connection of the runner, because its session settings must not return to the pool. */
  end: (connection: Connection) => void
}

/** Runs work with a TypeORM query runner on a server, and ends its connection afterwards. Throws StatementError. */
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
