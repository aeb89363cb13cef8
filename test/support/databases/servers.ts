import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from "node:child_process"
import { once } from "node:events"
import {
  chmodSync,
  closeSync,
  existsSync,
  globSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs"
import { connect } from "node:net"
import { tmpdir, userInfo } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { freePort } from "../machine/free-port.ts"
import { findProgram } from "../machine/tools.ts"
import { createPostgresProcess, runToEnd } from "./postgres-server.ts"

export const serverEngines = ["mysql", "mariadb", "postgres"] as const

export type ServerEngine = (typeof serverEngines)[number]

/**
 * A database server for tests on a free port of 127.0.0.1. Its user is root, on PostgreSQL postgres, without a
 * password.
 */
export interface PrivateServer {
  readonly engine: ServerEngine
  readonly port: number
  /** `mysql://root@127.0.0.1:PORT/`, without a database, or `postgres://postgres@127.0.0.1:PORT/postgres`. */
  readonly url: string
  /** The folder of its files. */
  readonly dataFolder: string
  /** Starts it (again) on the same port and data, and waits until it accepts connections. */
  start(): Promise<void>
  /** Kills it like a power failure (SIGKILL), and waits until it has ended. */
  kill(): Promise<void>
  /** Stops it permanently and removes its data. */
  remove(): Promise<void>
}

const startTimeoutMs = 60_000

/** Returns the path of the server program of an engine, or undefined if it is not on the PATH. */
export function findServer(engine: ServerEngine): string | undefined {
  if (engine === "mariadb") return findProgram("mariadbd")
  // Debian has the programs in one folder per version.
  if (engine === "postgres") return findProgram("postgres", globSync("/usr/lib/postgresql/*/bin").sort().toReversed())
  const program = findProgram("mysqld")
  // Debian's mariadb-server also installs `mysqld`, as a link to mariadbd.
  if (program === undefined || /mariadb/i.test(execFileSync(program, ["--version"], { encoding: "utf8" }))) return
  return program
}

/**
 * The folder of the PATH with MySQL's own programs, or with those of the same names from MariaDB. Undefined if there is
 * none.
 */
export function mysqlPrograms(maker: "mysql" | "mariadb" = "mysql"): string | undefined {
  return (process.env.PATH ?? "").split(delimiter).find((folder) => {
    const program = join(folder, "mysqldump")
    if (!existsSync(program)) return false
    const isMariadb = /mariadb/i.test(execFileSync(program, ["--version"], { encoding: "utf8" }))
    return isMariadb === (maker === "mariadb")
  })
}

/** The folder with PostgreSQL's programs. Undefined if they are not installed. */
export function postgresPrograms(): string | undefined {
  const program = findServer("postgres")
  return program && dirname(realpathSync(program))
}

/**
 * Creates a data folder below `folder` and starts a server on it. Throws with the server's log if it does not start.
 *
 * @param more Further options of the server program.
 */
export async function createServerProcess(
  engine: ServerEngine,
  folder: string,
  more: readonly string[] = [],
): Promise<PrivateServer> {
  const program = findServer(engine)
  if (program === undefined) throw new Error(`no ${engine} server on the PATH`)
  if (engine === "postgres") {
    const port = await freePort()
    return { engine, port, ...(await createPostgresProcess(program, port, folder, more)) }
  }
  const home = mkdtempSync(join(folder, `${engine}-`))
  const data = join(home, "data")
  const logFile = join(home, "log")
  const pidFile = join(home, "authwire-test.pid")
  const user = `--user=${userInfo().username}`
  const log = openSync(logFile, "a")
  // A folder of its own, because a server that starts deletes the temporary tables of every other one in the same folder.
  const temporary = mkdtempSync(join(home, "tmp-"))
  const spawnOptions: SpawnOptions = { stdio: ["ignore", log, log], env: { ...process.env, TMPDIR: temporary } }
  try {
    if (engine === "mariadb") {
      const options = ["--auth-root-authentication-method=normal", "--skip-test-db", user]
      const installer = findProgram("mariadb-install-db") ?? "mariadb-install-db"
      await runToEnd(installer, ["--no-defaults", `--datadir=${data}`, ...options], spawnOptions)
    } else {
      await runToEnd(program, ["--no-defaults", `--datadir=${data}`, "--initialize-insecure", user], spawnOptions)
    }
  } catch (cause) {
    // The log is empty if the program could not be started.
    throw new Error(`no data folder for ${engine}: ${cause}\n${readFileSync(logFile, "utf8").slice(-2000)}`, { cause })
  }
  const port = await freePort()
  const options = [
    "--no-defaults",
    user,
    `--datadir=${data}`,
    `--port=${port}`,
    "--bind-address=127.0.0.1",
    `--socket=${join(home, "sock")}`,
    `--pid-file=${join(home, "pid")}`,
    "--skip-log-bin",
    "--max-connections=400",
    "--innodb-buffer-pool-size=64M",
    // Data survives a killed process, but not a crash of the machine. Saves disk writes.
    "--innodb-flush-log-at-trx-commit=2",
    ...(engine === "mysql" ? ["--mysqlx=OFF", "--secure-file-priv="] : []),
    ...more,
  ]
  let child: ChildProcess | undefined

  async function start() {
    child = spawn(program as string, options, spawnOptions)
    child.unref()
    writeFileSync(pidFile, String(child.pid))
    const deadline = Date.now() + startTimeoutMs
    while (!(await greets(port))) {
      if (child.exitCode !== null || Date.now() > deadline) {
        throw new Error(`${engine} did not start:\n${readFileSync(logFile, "utf8").slice(-2000)}`)
      }
      await delay(50)
    }
  }

  async function kill() {
    rmSync(pidFile, { force: true })
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, "exit")
    // The child was unreferenced. Now this process must wait until the child has ended.
    child.ref()
    child.kill("SIGKILL")
    await exit
  }

  async function remove() {
    await kill()
    closeSync(log)
    rmSync(home, { recursive: true, force: true })
  }

  await start()
  return { engine, port, url: `mysql://root@127.0.0.1:${port}/`, dataFolder: data, start, kill, remove }
}

/** Creates the folder for everything that one test run starts or stores. */
export function createRunFolder(): string {
  const folder = mkdtempSync(join(hasMemory() ? memory : tmpdir(), "authwire-test-"))
  // If the tests run as root, PostgreSQL runs as another user in a subfolder, which must be reachable.
  chmodSync(folder, 0o711)
  return folder
}

/** The file system of Linux in memory: the databases of the tests need not survive, and waiting for a disk takes long. */
const memory = "/dev/shm"
const neededBytes = 4 * 1024 ** 3

function hasMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize >= neededBytes
  } catch {
    return false
  }
}

/** Whether a server on the port sends a greeting, as MySQL and MariaDB do. */
function greets(port: number): Promise<boolean> {
  const socket = connect({ port, host: "127.0.0.1" })
  return new Promise<boolean>((resolve) => {
    socket.setTimeout(1000, () => resolve(false))
    socket.once("data", (greeting) => resolve(greeting[4] === 10))
    socket.once("error", () => resolve(false))
    socket.once("close", () => resolve(false))
  }).finally(() => socket.destroy())
}
