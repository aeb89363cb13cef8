import { createDatabase, type DatabaseTarget, type TestDatabase } from "../databases/databases.js"
import { freePort } from "../machine/free-port.js"
import { type ServerProcess, startServer } from "../processes/server.js"
import { type Example, startExample } from "./example.js"

/** A database, an Authwire that uses it, and the example application that uses this Authwire. */
export interface Stack {
  readonly database: TestDatabase
  readonly example: Example
  readonly server: ServerProcess
  /** Starts Authwire again at its previous address, after `server.stop()`. */
  restartServer(): Promise<void>
  remove(): Promise<void>
}

/**
 * @param environment - More variables for the example application.
 * @param startApplication - Starts the application. Default: that of examples/express.
 * @param args - More arguments of Authwire.
 */
export async function startStack(
  target: DatabaseTarget,
  environment: Record<string, string> = {},
  startApplication: typeof startExample = startExample,
  args: readonly string[] = [],
): Promise<Stack> {
  // Stops everything that was started in reverse order, also if the next part does not start.
  const started = new AsyncDisposableStack()
  try {
    const database = await createDatabase(target)
    started.defer(() => database.drop())
    // A port that stays reserved for the server while the server is down.
    const address = `--grpc-addr=127.0.0.1:${await freePort()}`
    const start = () => startServer({ databaseUrl: database.url, args: [address, ...args] })
    let server = await start()
    started.defer(async () => void (await server.stop()))
    const { grpcUrl } = server
    const example = await startApplication(grpcUrl, environment)
    started.defer(() => example.stop())
    return {
      database,
      example,
      get server() {
        return server
      },
      async restartServer() {
        server = await start()
      },
      remove: () => started.disposeAsync(),
    }
  } catch (error) {
    await started.disposeAsync()
    throw error
  }
}
