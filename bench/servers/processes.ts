import { type ChildProcess, fork, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { Places } from "../contenders/contender.ts"
import { apiKeyEntry } from "./key.ts"

/** A server in a process of its own. */
export interface ServerProcess {
  readonly pid: number
  /** Where it is. */
  readonly places: Places
  /** Ends it, and waits until it is gone. */
  stop(): Promise<void>
}

const authwire = fileURLToPath(new URL("../../server/bin/authwire.js", import.meta.url))
const production = { ...process.env, NODE_ENV: "production", NODE_OPTIONS: "" }

/**
 * Starts `authwire serve`, with both listeners on free ports. It is as in production, with the key of this run; its log goes nowhere.
 *
 * @param options.nodeArgs - Arguments of Node, such as those that let it be inspected.
 */
export async function startAuthwire(
  databaseUrl: string,
  options: { args?: readonly string[]; nodeArgs?: readonly string[]; env?: Record<string, string> } = {},
): Promise<ServerProcess> {
  const { args = [], nodeArgs = [], env = {} } = options
  const child = spawn(
    process.execPath,
    [...nodeArgs, authwire, "serve", "--grpc-addr=127.0.0.1:0", "--http-addr=127.0.0.1:0", ...args],
    {
      env: {
        ...production,
        AUTHWIRE_DATABASE_URL: databaseUrl,
        AUTH_SECRET: "a-secret-of-the-measurements-only",
        AUTHWIRE_API_KEYS: apiKeyEntry,
        // Counted and compared as ever, but more than anybody reaches here.
        AUTHWIRE_RATE_LIMIT: "1000000000",
        AUTHWIRE_RATE_LIMIT_OVERRIDES: "VerificationTokenService.UseVerificationToken=999999999",
        ...env,
      },
      stdio: ["ignore", "pipe", "ignore"],
    },
  )
  endsWithThis(child)
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
  return {
    pid: child.pid as number,
    places: { grpcUrl: `http://${url("grpc")}`, httpUrl: `http://${url("http")}` },
    stop: () => stop(child),
  }
}

/** Starts the JSON server that is written by hand. */
export async function startRest(databaseUrl: string): Promise<ServerProcess> {
  const { child, port } = await startScript("./rest.ts", [databaseUrl])
  return server(child, { httpUrl: `http://127.0.0.1:${port}` })
}

/** Starts the server of the floors. */
export async function startEcho(): Promise<ServerProcess> {
  const { child, port } = await startScript("./echo.ts", [])
  return server(child, { grpcUrl: `http://127.0.0.1:${port}` })
}

function server(child: ChildProcess, places: Places): ServerProcess {
  return { pid: child.pid as number, places, stop: () => stop(child) }
}

/** A script that says its port to the parent. */
async function startScript(path: string, args: string[]): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(new URL(path, import.meta.url), args, { execArgv: [], env: production })
  endsWithThis(child)
  const ended = once(child, "exit").then(() => {
    throw new Error(`${path} did not start`)
  })
  const [port] = await Promise.race([once(child, "message"), ended])
  ended.catch(() => {})
  return { child, port: Number(port) }
}

/** Nothing stays behind when this process fails. */
function endsWithThis(child: ChildProcess): void {
  const kill = () => child.kill()
  process.once("exit", kill)
  child.once("exit", () => process.off("exit", kill))
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, "exit")
  child.kill()
  await ended
}
