import { fork } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { hasAdapters } from "../import/fixtures.ts"
import { hasChromium } from "./applications/chromium.ts"
import { hasNextExample, hasNextjs } from "./applications/nextjs.ts"
import { hasSite } from "./applications/site.ts"
import { createRunFolder, createServerProcess, findServer, mysqlPrograms, serverEngines } from "./databases/servers.ts"
import teardown from "./global-teardown.js"
import { takenPorts } from "./machine/default-ports.ts"
import { hasDeployTools, hasReleaseTools, hasSystemdAnalyze } from "./machine/deploy.ts"
import { findEnvoy } from "./machine/gateways.ts"
import { missingLanguages } from "./machine/languages.ts"
import { hasNetworkNamespaces } from "./machine/network-namespace.ts"
import { oldNode } from "./machine/old-node.ts"
import { hasRuntimes } from "./machine/runtimes.ts"
import { hasMountNamespaces } from "./machine/small-disk.ts"
import { findProgram, hasTool } from "./machine/tools.ts"
import { hasTracedApplication } from "./machine/tracing.ts"
import { bundleCommand } from "./processes/bundle.js"
import { hasVersions } from "./processes/earlier.ts"

const variables = {
  mysql: "AUTHWIRE_TEST_MYSQL_URL",
  mariadb: "AUTHWIRE_TEST_MARIADB_URL",
  postgres: "AUTHWIRE_TEST_POSTGRES_URL",
}
const remedies = {
  mysql: "set AUTHWIRE_TEST_MYSQL_URL or install MySQL 8.4+",
  mariadb: "set AUTHWIRE_TEST_MARIADB_URL or install MariaDB 10.11+",
  postgres: "set AUTHWIRE_TEST_POSTGRES_URL or install PostgreSQL 15+",
}
const tools = {
  grpcurl: "go install github.com/fullstorydev/grpcurl/cmd/grpcurl@latest",
  curl: "install curl",
}
const toolsOfLongTests = {
  sqlite3: "install sqlite3",
  "mariadb-backup": "install mariadb-backup",
}

/** What is missing of the programs and packages that only long tests need, one line each. */
function leftOutOfLongTests() {
  const leftOut = []
  if (mysqlPrograms() === undefined) leftOut.push("left out: a dump of MySQL (have its own mysqldump on the path)")
  if (mysqlPrograms("mariadb") === undefined)
    leftOut.push("left out: a dump of MySQL by MariaDB (install mariadb-client)")
  if (!hasTracedApplication())
    leftOut.push("left out: an application with OpenTelemetry (npm install in test/tracing/application)")
  if (!hasNextjs()) leftOut.push("left out: Next.js (npm install in test/security/nextjs)")
  if (!hasRuntimes()) leftOut.push("left out: Bun, Deno, workerd and other runtimes (make runtimes-install)")
  if (!hasNextjs("next-auth-4/application"))
    leftOut.push("left out: next-auth 4 (npm install in test/next-auth-4/application)")
  if (!hasNextExample()) leftOut.push("left out: the example in Next.js (npm install in examples/nextjs)")
  if (!hasChromium()) leftOut.push("left out: Chromium (install chromium; npm install in test/browser)")
  if (!hasDeployTools())
    leftOut.push("left out: checks of the chart, the image and compose.yaml (scripts/deploy/install)")
  else if (!hasReleaseTools()) leftOut.push("left out: the artefacts of a release (make release-install)")
  if (!hasSite()) leftOut.push("left out: the code of the quick starts (npm install in site)")
  if (!hasSystemdAnalyze()) leftOut.push("left out: checks of the systemd unit (needs systemd-analyze of systemd)")
  if (!hasVersions()) leftOut.push("left out: upgrades, and clients of other versions (make earlier-install)")
  if (!hasAdapters()) leftOut.push("left out: the adapters of Auth.js (make adapters-install)")
  if (findEnvoy() === undefined) leftOut.push("left out: Envoy (make gateways-install)")
  if (findProgram("nginx") === undefined) leftOut.push("left out: nginx (install nginx)")
  if (findProgram("haproxy") === undefined) leftOut.push("left out: HAProxy (install haproxy)")
  if (!hasNetworkNamespaces()) leftOut.push("left out: a silent network (needs root and ip of iproute2)")
  return leftOut
}

const leftOutByPort = (port) => `left out: what runs beside \`make run\` (end what listens on port ${port})`

/**
 * Finds or starts the database servers for the tests, and passes them to the workers in environment variables:
 *
 * - AUTHWIRE_TEST_MYSQL_URL, AUTHWIRE_TEST_MARIADB_URL, AUTHWIRE_TEST_POSTGRES_URL: the server to use. Its user must be
 *   allowed to create databases and users. Not set: a server is started for this run, if its program is installed.
 * - AUTHWIRE_TEST_REQUIRE=all: a missing server or tool fails the run. `upgrade`: upgrades are tested, or the run fails.
 * - AUTHWIRE_TEST_LONG: this is a run of the long tests, which need more programs (set by jest.long.config.js).
 * - AUTHWIRE_TEST_TARGETS: the databases to use, of `sqlite,mysql,mariadb,postgres` (default: all four).
 * - AUTHWIRE_TEST_SERVICE_DATABASE: the one of them on which everything above the store is tested (default: the first).
 */
export default async function setup() {
  const wanted = (process.env.AUTHWIRE_TEST_TARGETS ?? "sqlite,mysql,mariadb,postgres").split(",")
  const leftOut = []
  const toStart = []
  for (const engine of serverEngines) {
    if (!wanted.includes(engine)) delete process.env[variables[engine]]
    else if (process.env[variables[engine]]) continue
    else if (findServer(engine) === undefined) leftOut.push(`left out: ${engine} (${remedies[engine]})`)
    else toStart.push(engine)
  }
  const isLong = process.env.AUTHWIRE_TEST_LONG !== undefined
  for (const [tool, remedy] of Object.entries({ ...tools, ...(isLong && toolsOfLongTests) })) {
    if (!hasTool(tool)) leftOut.push(`left out: what needs ${tool} (${remedy})`)
  }
  leftOut.push(...missingLanguages(hasTool, isLong ? ["Java", "Rust"] : ["Go", "Python"]))
  if (findProgram("pgbouncer") === undefined) leftOut.push("left out: a pooler of PostgreSQL (install pgbouncer)")
  if (!hasMountNamespaces()) leftOut.push("left out: a full disk (needs root and unshare of util-linux)")
  if (isLong) leftOut.push(...leftOutOfLongTests(), ...(await takenPorts()).map(leftOutByPort))
  if (process.env.AUTHWIRE_TEST_REQUIRE === "all" && leftOut.length > 0) throw new Error(leftOut.join("\n"))
  // CI does not require the following.
  if (!process.env.AUTHWIRE_TEST_CLUSTER_URL) {
    leftOut.push("left out: a replication group with several primaries (set AUTHWIRE_TEST_CLUSTER_URL)")
  }
  if (!process.env.AUTHWIRE_TEST_GALERA_URL) {
    leftOut.push("left out: a cluster of Galera (set AUTHWIRE_TEST_GALERA_URL)")
  }
  if (isLong && !process.env.AUTHWIRE_TEST_VITESS_URL) leftOut.push("left out: Vitess (set AUTHWIRE_TEST_VITESS_URL)")
  if (isLong && !process.env.AUTHWIRE_TEST_VITESS_SHARDS_URL)
    leftOut.push("left out: shards of Vitess (set AUTHWIRE_TEST_VITESS_SHARDS_URL)")
  if (oldNode() === undefined) leftOut.push("left out: a Node that is too old (have one on the path, older than 22)")
  await bundleCommand()
  process.env.AUTHWIRE_TEST_RUN_FOLDER = createRunFolder()
  // A time zone with an offset of half an hour, and half an hour of daylight saving, exposes code that does not use
  // UTC.
  process.env.TZ ??= "Australia/Lord_Howe"
  process.env.AUTHWIRE_TEST_COMMANDS = await startCommandHost()
  globalThis.authwireTestLeftOut = leftOut
  const starts = await Promise.allSettled(
    toStart.map(async (engine) => {
      const server = await createServerProcess(engine, process.env.AUTHWIRE_TEST_RUN_FOLDER)
      process.env[variables[engine]] = server.url
    }),
  )
  const failed = starts.find((start) => start.status === "rejected")
  if (failed === undefined) return
  await teardown()
  throw failed.reason
}

/** Starts command-host.ts, which global-teardown.js ends. Resolves to its socket. */
async function startCommandHost() {
  const folder = join(process.env.AUTHWIRE_TEST_RUN_FOLDER, "commands")
  mkdirSync(folder)
  const socket = join(folder, "socket")
  const program = fileURLToPath(new URL("processes/command-host.ts", import.meta.url))
  const { AUTHWIRE_DATABASE_URL: _, NODE_OPTIONS: __, ...environment } = process.env
  const host = fork(program, [socket], { env: environment, stdio: ["ignore", "inherit", "inherit", "ipc"] })
  writeFileSync(join(folder, "authwire-test.pid"), String(host.pid))
  await Promise.race([
    once(host, "message"),
    once(host, "exit").then(() => Promise.reject(new Error("no command host"))),
  ])
  host.disconnect()
  host.unref()
  return socket
}
