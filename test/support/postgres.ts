import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { chownSync, mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

// Loaded by jest and, for `hasPostgres`, by Node as it is: so it imports no file of ours.

/** A server of PostgreSQL of our own, on a free port of 127.0.0.1: somebody else's database, which Authwire only reads. */
export interface Postgres {
  /** Makes an empty database, and returns its URL. */
  createDatabase(): Promise<string>
  stop(): Promise<void>
}

/** It does not start as root: then it is run by this user, who owns nothing. */
const nobody = 65534

export function hasPostgres(hasTool: (name: string) => boolean): boolean {
  return ["initdb", "postgres", "psql"].every(hasTool)
}

export async function startPostgres(): Promise<Postgres> {
  const home = mkdtempSync(join(tmpdir(), "authwire-postgres-"))
  const as = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}
  if (as.uid !== undefined) chownSync(home, as.uid, as.gid)
  const data = join(home, "data")
  execFileSync("initdb", ["-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"], {
    ...as,
    cwd: home,
    stdio: "ignore",
  })
  const port = await freePort()
  const options = ["-D", data, "-p", String(port), "-k", home, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
  const child: ChildProcess = spawn("postgres", options, { ...as, cwd: home, stdio: ["ignore", "ignore", "pipe"] })
  const exited = once(child, "exit")
  let log = ""
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on("data", (chunk: Buffer) => {
      log += chunk
      if (log.includes("ready to accept connections")) resolve()
    })
    exited.then(() => reject(new Error(`postgres did not start:\n${log}`)))
  })
  const url = `postgresql://postgres@127.0.0.1:${port}`
  return {
    async createDatabase() {
      const name = `authwire_test_${randomBytes(6).toString("hex")}`
      await promisify(execFile)("psql", [`${url}/postgres`, "-c", `CREATE DATABASE ${name}`])
      return `${url}/${name}`
    },
    async stop() {
      // It ends all connections and then itself.
      child.kill("SIGINT")
      await exited
      rmSync(home, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === "string") throw new Error("no free port")
  return address.port
}
