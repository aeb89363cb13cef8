import { type ChildProcess, execFile, type SpawnOptions, spawn } from "node:child_process"
import { once } from "node:events"
import { chownSync, closeSync, mkdtempSync, openSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { promisify } from "node:util"

// Loaded by jest and, for the global set-up, by Node directly, so it imports no other file of this repository.

/** The id of the user that runs PostgreSQL if the tests run as root, because PostgreSQL refuses to run as root. */
const nobody = 65534

const startTimeoutMs = 60_000

/** Only the administrator needs no password. */
const authentication = `local all all trust
host all postgres 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
`

/** Creates a data folder below `folder` and starts a server on it. See PrivateServer. */
export async function createPostgresProcess(
  program: string,
  port: number,
  folder: string,
  more: readonly string[] = [],
) {
  const home = mkdtempSync(join(folder, "postgres-"))
  const data = join(home, "data")
  const logFile = join(home, "log")
  const pidFile = join(home, "authwire-test.pid")
  const as = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}
  if (as.uid !== undefined) chownSync(home, as.uid, as.gid)
  const log = openSync(logFile, "a")
  const stdio: ["ignore", number, number] = ["ignore", log, log]
  const beside = (name: string) => join(dirname(realpathSync(program)), name)
  const cluster = ["-D", data, "-U", "postgres", "--encoding=UTF8", "--locale=C.UTF-8", "--auth=trust", "--no-sync"]
  try {
    await runToEnd(beside("initdb"), cluster, { ...as, cwd: home, stdio })
  } catch (cause) {
    throw new Error(`could not make a data folder:\n${readFileSync(logFile, "utf8").slice(-2000)}`, { cause })
  }
  writeFileSync(join(data, "pg_hba.conf"), authentication)
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: home,
    max_connections: 400,
    // Data survives a killed process, but not a crash of the machine. Saves disk writes.
    fsync: "off",
    // The shared memory of a killed server is then in its folder.
    dynamic_shared_memory_type: "mmap",
  }
  const options = Object.entries(settings)
    .flatMap(([name, value]) => ["-c", `${name}=${value}`])
    .concat(more)
  let child: ChildProcess | undefined
  const isRunning = () => child !== undefined && child.exitCode === null && child.signalCode === null

  async function start() {
    child = spawn(program, ["-D", data, "-p", String(port), ...options], { ...as, cwd: home, stdio })
    child.unref()
    // SIGQUIT lets it remove its shared memory.
    writeFileSync(pidFile, `${child.pid} SIGQUIT`)
    const deadline = Date.now() + startTimeoutMs
    const question = ["-h", "127.0.0.1", "-p", String(port), "-d", "postgres", "-U", "postgres", "-q"]
    const isReady = async () => {
      try {
        await promisify(execFile)(beside("pg_isready"), question)
        return true
      } catch (error) {
        if (typeof (error as { code?: unknown }).code === "number") return false
        throw error
      }
    }
    while (!(await isReady())) {
      if (!isRunning() || Date.now() > deadline) {
        throw new Error(`postgres did not start:\n${readFileSync(logFile, "utf8").slice(-2000)}`)
      }
      await delay(50)
    }
  }

  async function end(signal: "SIGKILL" | "SIGQUIT") {
    rmSync(pidFile, { force: true })
    if (child === undefined || !isRunning()) return
    const exit = once(child, "exit")
    // The child was unreferenced. Now this process must wait until the child has ended.
    child.ref()
    // Each connection is a process of its own, which runs until it notices that the first process is gone.
    child.kill("SIGSTOP")
    const others = signal === "SIGKILL" ? childrenOf(child.pid as number) : []
    child.kill(signal)
    child.kill("SIGCONT")
    for (const pid of others) process.kill(pid, signal)
    await exit
    while (others.some(isAlive)) await delay(5)
  }

  await start()
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    dataFolder: data,
    start,
    kill: () => end("SIGKILL"),
    async remove() {
      await end("SIGQUIT")
      closeSync(log)
      rmSync(home, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

/** Runs a program until it exits. Unlike execFileSync, it lets other servers start meanwhile. Throws if it fails. */
export async function runToEnd(program: string, args: readonly string[], options: SpawnOptions): Promise<void> {
  const [code, signal] = await once(spawn(program, args, options), "exit")
  if (code !== 0) throw new Error(`${program} ended with ${code ?? signal}`)
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
  return text.split(" ").filter(Boolean).map(Number)
}

/** Whether the process is running. A zombie counts as ended. */
function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}
