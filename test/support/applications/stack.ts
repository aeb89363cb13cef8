import { createDatabase, type DatabaseTarget, type TestDatabase } from "../databases/databases.js"
import { freePort } from "../machine/free-port.js"
import { type ServerProcess, startServer } from "../processes/server.js"
import { type Example, startExample } from "./example.js"

/** A database, Authwire on it, and the example application on that. */
export interface Stack {
  readonly database: TestDatabase
  readonly example: Example
  readonly server: ServerProcess
  /** Starts Authwire again, at the address that it had, after `server.stop()`. */
  restartServer(): Promise<void>
  remove(): Promise<void>
}

/**
 * @param environment - More variables for the example application.
 * @param start - Starts the application. Default: that of examples/express.
 */
export async function startStack(
  target: DatabaseTarget,
  environment: Record<string, string> = {},
  start: typeof startExample = startExample,
): Promise<Stack> {
  // Whatever has started is ended in reverse, also when the next part does not start.
  const started = new AsyncDisposableStack()
  try {
    const database = await createDatabase(target)
    started.defer(() => database.drop())
    // A port that nobody else is given while it is down.
    const address = `--grpc-addr=127.0.0.1:${await freePort()}`
    let server = await startServer({ databaseUrl: database.url, args: [address] })
    started.defer(async () => void (await server.stop()))
    const { grpcUrl } = server
    const example = await start(grpcUrl, environment)
    started.defer(() => example.stop())
    return {
      database,
      example,
      get server() {
        return server
      },
      async restartServer() {
        server = await startServer({ databaseUrl: database.url, args: [address] })
      },
      remove: () => started.disposeAsync(),
    }
  } catch (error) {
    await started.disposeAsync()
    throw error
  }
}
