import { type ChildProcess, fork, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { Endpoints } from "../contenders/contender.ts"
import { apiKeyEntry } from "./key.ts"

/** A server in a process of its own. */
export interface ServerProcess {
  readonly pid: number
  /** The endpoints of the server. */
  readonly endpoints: Endpoints
  /** Stops the server and waits until its process has exited. */
  stop(): Promise<void>
}

const authwire = fileURLToPath(new URL("../../server/bin/authwire.js", import.meta.url))
const production = { ...process.env, NODE_ENV: "production", NODE_OPTIONS: "" }

// A signal ends a process without its exit handlers, which end the servers here.
for (const [signal, code] of [
  ["SIGHUP", 129],
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const) {
  process.once(signal, () => process.exit(code))
}

/**
 * Starts `authwire serve` with both listeners on free ports. Its settings are those of production, with the API key of
 * this run. Its log is discarded.
 *
 * @param options.nodeArgs - Arguments of Node, such as those for the inspector.
 */
export async function startAuthwire(
  databaseUrl: string,
  options: { args?: readonly string[]; nodeArgs?: readonly string[]; env?: Record<string, string> } = {},
): Promise<ServerProcess> {
  const { args = [], nodeArgs = [], env = {} } = options
  const listeners = ["--grpc-addr=127.0.0.1:0", "--http-addr=127.0.0.1:0"]
  const child = spawn(process.execPath, [...nodeArgs, authwire, "serve", ...listeners, ...args], {
    env: {
      ...production,
      AUTHWIRE_DATABASE_URL: databaseUrl,
      AUTH_SECRET: "a-secret-of-the-measurements-only",
      AUTHWIRE_API_KEYS: apiKeyEntry,
      // The calls are still counted and compared, but the limits are never reached.
      AUTHWIRE_RATE_LIMIT: "1000000000",
      AUTHWIRE_RATE_LIMIT_OVERRIDES: "VerificationTokenService.UseVerificationToken=999999999",
      ...env,
    },
    stdio: ["ignore", "pipe", "ignore"],
  })
  endWithThisProcess(child)
  let output = ""
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString()
  })
  const url = (transport: string) => new RegExp(`${transport} listener at (?:http://)?(\\S+)`).exec(output)?.[1]
  const ended = once(child, "exit")
  while (url("grpc") === undefined || url("http") === undefined) {
    await Promise.race([once(child.stdout, "data"), ended])
    if (child.exitCode !== null) throw new Error(`authwire serve did not start on ${new URL(databaseUrl).pathname}`)
  }
  return serverOf(child, { grpcUrl: `http://${url("grpc")}`, httpUrl: `http://${url("http")}` })
}

/** Starts a script that reports its port to the parent: the hand-written JSON server, or the server of the floors. */
async function startScript(path: "./rest.ts" | "./echo.ts", databaseUrl: string): Promise<ServerProcess> {
  const child = fork(new URL(path, import.meta.url), [databaseUrl], { execArgv: [], env: production })
  endWithThisProcess(child)
  const [port] = await Promise.race([once(child, "message"), once(child, "exit")])
  if (child.exitCode !== null) throw new Error(`${path} did not start`)
  const url = `http://127.0.0.1:${port}`
  return serverOf(child, path === "./echo.ts" ? { grpcUrl: url } : { httpUrl: url })
}

/** The functions that start each server. */
export const servers = {
  authwire: (databaseUrl: string) => startAuthwire(databaseUrl),
  rest: (databaseUrl: string) => startScript("./rest.ts", databaseUrl),
  echo: () => startScript("./echo.ts", ""),
} satisfies Record<string, (databaseUrl: string) => Promise<ServerProcess>>

export type ServerName = keyof typeof servers

function endWithThisProcess(child: ChildProcess): void {
  const kill = () => child.kill()
  process.once("exit", kill)
  child.once("exit", () => process.off("exit", kill))
}

function serverOf(child: ChildProcess, endpoints: Endpoints): ServerProcess {
  const ended = once(child, "exit")
  return {
    pid: child.pid as number,
    endpoints,
    async stop() {
      child.kill()
      await ended
    },
  }
}
