import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { apiKeyEntry } from "../servers/key.ts"

/** A replica of the service. Its address does not change. */
export interface Replica {
  readonly host: string
  readonly port: number
  /** The member of the database that it uses, as HOST:PORT, if it has logged it. */
  member(): string | undefined
  start(): Promise<void>
  /** Sends a signal and waits until the process has exited. */
  end(signal: "SIGKILL" | "SIGTERM"): Promise<void>
}

const authwire = fileURLToPath(new URL("../../server/bin/authwire.js", import.meta.url))

/** `readUrl` is the database for reads that may be slightly outdated. */
export interface ReplicaOptions {
  readonly databaseUrl: string
  readonly readUrl: string | undefined
}

/** Starts replicas on the same port of different addresses, so that one name can resolve to all of them. */
export async function startReplicas(count: number, options: ReplicaOptions): Promise<Replica[]> {
  const port = await freePort()
  const hosts = Array.from({ length: count }, (_, index) => `127.0.0.${index + 11}`)
  return Promise.all(hosts.map((host) => startReplica(host, port, options)))
}

async function startReplica(host: string, port: number, { databaseUrl, readUrl }: ReplicaOptions): Promise<Replica> {
  let child: ChildProcess
  let member: string | undefined

  async function start(): Promise<void> {
    const listeners = [`--grpc-addr=${host}:${port}`, "--http-addr=off", "--drain-delay-ms=1000"]
    child = spawn(
      process.execPath,
      [authwire, "serve", "--migrate", "--log-format=json", "--log-level=info", ...listeners],
      {
        env: {
          ...process.env,
          AUTHWIRE_DATABASE_URL: databaseUrl,
          AUTH_SECRET: "a-secret-of-the-measurements-only",
          AUTHWIRE_API_KEYS: apiKeyEntry,
          AUTHWIRE_RATE_LIMIT: "1000000000",
          ...(readUrl !== undefined && { AUTHWIRE_DATABASE_READ_URL: readUrl }),
        },
        stdio: ["ignore", "pipe", "pipe"],
      },
    )
    let rest = ""
    child.stderr?.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) member = /"member":"([^"]+)"/.exec(line)?.[1] ?? member
    })
    let output = ""
    const ended = once(child, "exit")
    while (!output.includes("grpc listener at")) {
      const [chunk] = await Promise.race([once(child.stdout as NonNullable<ChildProcess["stdout"]>, "data"), ended])
      output += String(chunk)
      // The process exits if the database is not available yet. It is started again, as an orchestrator does.
      if (child.exitCode !== null) return start()
    }
    child.stdout?.resume()
  }

  process.once("exit", () => child.kill("SIGKILL"))
  await start()
  return {
    host,
    port,
    member: () => member,
    start,
    async end(signal) {
      const ended = once(child, "exit")
      child.kill(signal)
      await ended
    },
  }
}
