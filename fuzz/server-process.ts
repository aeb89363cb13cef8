import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { inspectOn, openInspector } from "../bench/servers/inspector.ts"
import { canary } from "./generate/messages.ts"

/** The ports of the listeners on loopback. */
export interface Ports {
  grpc: number
  http: number
}

/** A server under observation. */
export interface ServerProcess {
  readonly ports: Ports
  /** Aborts when the process exits without having been stopped. */
  readonly crashed: AbortSignal
  /** Returns the size of the heap after garbage collection, including buffers, in bytes. */
  heapBytes(): Promise<number>
  /** Returns the numbers of open HTTP/2 streams and connections. */
  open(): Promise<{ streams: number; connections: number }>
  /** Returns the current memory, and the maximum since `resetPeak`, in bytes. */
  memory(): { rss: number; peak: number }
  resetPeak(): void
  /** Returns the last lines of its output, without JSON log entries. */
  tail(): string
  stop(): Promise<void>
}

/** A module that counts the open HTTP/2 streams of the server. */
const streamCount = `data:text/javascript,${encodeURIComponent(
  `import { subscribe } from "node:diagnostics_channel"
  globalThis.openStreams = 0
  subscribe("http2.server.stream.created", () => globalThis.openStreams++)
  subscribe("http2.server.stream.close", () => globalThis.openStreams--)`,
)}`

const command = fileURLToPath(new URL("../server/bin/authwire.js", import.meta.url))

/** The time that the server has to exit, in milliseconds. It is longer than that of the calls for which it waits. */
const endingMs = 60_000

// Patterns that must never appear in the output of the server, whatever it receives.
const alarms: readonly [RegExp, string][] = [
  [/"level":(50|60)/, "an error in the log"],
  [/unhandled|uncaught/i, "something that nobody handled"],
  [/^\s+at .+:\d+:\d+\)?$/, "a stack"],
  [/Warning:/, "a warning of Node"],
  [new RegExp(canary), "a value of a request"],
]

/**
 * Starts `authwire serve --dev` on an empty embedded database and free ports.
 *
 * @param onAlarm Called for each line of output that matches a pattern of `alarms`.
 * @param imports Modules that the server loads first.
 */
export async function startServer(
  onAlarm: (what: string, line: string) => void,
  imports: readonly string[],
): Promise<ServerProcess> {
  const folder = mkdtempSync(join(tmpdir(), "authwire-fuzz-"))
  const inspectorPort = await freePort()
  const child = spawn(
    process.execPath,
    [
      ...inspectOn(inspectorPort),
      ...[streamCount, ...imports].map((path) => `--import=${path}`),
      command,
      ...["serve", "--dev", "--database-url=sqlite:fuzz.db", "--grpc-addr=127.0.0.1:0", "--http-addr=127.0.0.1:0"],
      ...["--log-format=json", "--log-level=info", "--max-deadline-ms=10000"],
    ],
    {
      cwd: folder,
      env: { ...process.env, NODE_OPTIONS: "", AUTH_SECRET: `${canary}-a-secret-of-the-service-and-of-nobody-else` },
      stdio: ["ignore", "pipe", "pipe"],
    },
  )
  const kill = () => child.kill("SIGKILL")
  process.once("exit", kill)
  const crash = new AbortController()
  const ports: Partial<Ports> = {}
  const lines: string[] = []
  let stopping = false
  let listening = () => {}
  const listens = new Promise<void>((resolve) => {
    listening = resolve
  })
  const read = (line: string) => {
    lines.push(line)
    if (lines.length > 200) lines.splice(0, 100)
    const [, transport, port] = /^authwire: (grpc|http) listener at \S+:(\d+)$/.exec(line) ?? []
    if (transport !== undefined) ports[transport as keyof Ports] = Number(port)
    if (ports.grpc !== undefined && ports.http !== undefined) listening()
    for (const [pattern, what] of alarms) if (pattern.test(line)) onAlarm(kindOf(what, line), line)
  }
  for (const output of [child.stdout, child.stderr]) createInterface({ input: output }).on("line", read)
  const ended = once(child, "close").then(() => {
    process.off("exit", kill)
    rmSync(folder, { recursive: true, force: true })
    if (!stopping) crash.abort()
  })
  await Promise.race([listens, ended])
  if (crash.signal.aborted) throw new Error(`authwire serve did not start:\n${lines.join("\n")}`)
  const inspector = await openInspector(inspectorPort)
  const status = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) *
    1024
  return {
    ports: ports as Ports,
    crashed: crash.signal,
    async heapBytes() {
      const { heapUsed, external } = await inspector.memory()
      return heapUsed + external
    },
    open: () =>
      inspector.evaluate(`({
        streams: globalThis.openStreams,
        connections: process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length,
      })`),
    memory: () => ({ rss: status("VmRSS"), peak: status("VmHWM") }),
    resetPeak: () => writeFileSync(`/proc/${child.pid}/clear_refs`, "5"),
    tail: () =>
      `${lines
        .filter((line) => !line.startsWith("{"))
        .slice(-30)
        .join("\n")}\n`,
    async stop() {
      stopping = true
      inspector.close()
      child.kill()
      const late = setTimeout(() => {
        onAlarm("the server does not end when it is told to", "")
        child.kill("SIGKILL")
      }, endingMs)
      await ended
      clearTimeout(late)
    },
  }
}

// Distinguishes the errors in the log, so that each is a kind of its own. A line of a stack trace is not distinguished
// further.
function kindOf(what: string, line: string): string {
  if (!line.startsWith("{")) return what
  const { msg, method, err } = JSON.parse(line)
  return `${what}: ${msg} ${method} ${err?.message ?? ""}`
}
