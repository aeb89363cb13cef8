import { type ChildProcess, fork, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { Endpoints } from "../contenders/contender.ts"
import { apiKeyEntry } from "./key.ts"

/** A server in a process of its own. */
export interface ServerProcess {
  readonly pid: number
  /** Where it is. */
  readonly endpoints: Endpoints
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
  const listeners = ["--grpc-addr=127.0.0.1:0", "--http-addr=127.0.0.1:0"]
  const child = spawn(process.execPath, [...nodeArgs, authwire, "serve", ...listeners, ...args], {
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
  })
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

/** Starts a script that says its port to the parent: the JSON server that is written by hand, or the server of the floors. */
async function startScript(path: "./rest.ts" | "./echo.ts", databaseUrl: string): Promise<ServerProcess> {
  const child = fork(new URL(path, import.meta.url), [databaseUrl], { execArgv: [], env: production })
  const [port] = await Promise.race([once(child, "message"), once(child, "exit")])
  if (child.exitCode !== null) throw new Error(`${path} did not start`)
  const url = `http://127.0.0.1:${port}`
  return serverOf(child, path === "./echo.ts" ? { grpcUrl: url } : { httpUrl: url })
}

/** How each server is started. */
export const servers = {
  authwire: (databaseUrl: string) => startAuthwire(databaseUrl),
  rest: (databaseUrl: string) => startScript("./rest.ts", databaseUrl),
  echo: () => startScript("./echo.ts", ""),
} satisfies Record<string, (databaseUrl: string) => Promise<ServerProcess>>

export type ServerName = keyof typeof servers

function serverOf(child: ChildProcess, endpoints: Endpoints): ServerProcess {
  const ended = once(child, "exit")
  // Nothing stays behind when this process fails.
  const kill = () => child.kill()
  process.once("exit", kill)
  child.once("exit", () => process.off("exit", kill))
  return {
    pid: child.pid as number,
    endpoints,
    async stop() {
      kill()
      await ended
    },
  }
}
