// Imports many users from a database of Prisma: into one database, and again without and with changes, and into another
// one with an import that is killed twice and run again. Compares the results by SQL. Prints the durations, and that of a
// plain copy by mysqldump and mysql for comparison. Both programs must be on the path. The user of the URL must be allowed to create databases. They are dropped at the end.
//
//   node bench/import.ts [--users 1000000] [--changes 1000] [--url mysql://root@127.0.0.1:3306/] [--live] [--keep]
//
// --live also prints the live memory after a full garbage collection. The runs take longer then.

import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { parseArgs, promisify } from "node:util"
import { createConnection } from "mysql2/promise"
import { type Run, runCommand } from "./import/run.ts"
import { changeSource, compareBySql, fillSource } from "./import/source.ts"

const { values } = parseArgs({
  options: {
    users: { type: "string", default: "1000000" },
    changes: { type: "string", default: "1000" },
    url: { type: "string", default: "mysql://root@127.0.0.1:3306/" },
    live: { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
  },
})
const [users, changes] = [Number(values.users), Number(values.changes)]
const server = new URL(values.url)
const name = `authwire_import_${randomBytes(4).toString("hex")}`
const [source, target, killed, copied] = [`${name}_source`, `${name}_target`, `${name}_killed`, `${name}_copied`]
const at = (database: string) => new URL(`/${database}`, server).href
const connection = await createConnection({ uri: server.href, multipleStatements: false, timezone: "Z" })
const importing = ["import", "--from=prisma", "--apply", "--delete"]
const say = (line: string) => process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`)

try {
  for (const database of [source, target, killed, copied]) await connection.query(`CREATE DATABASE ${database}`)
  await connection.changeUser({ database: source })
  await timed(`making ${users} people with an account and a session each`, () => fillSource(connection, users))
  await timed("plain copy: mysqldump | mysql", plainCopy)
  for (const database of [target, killed]) await run(database, ["migrate", "up"])
  show("first import", await run(target, importing))
  await compare(target)
  show("second import, nothing has changed", await run(target, importing))
  show("import, killed while it wrote users", await run(killed, importing, has("users", users / 2)))
  show("import, killed while it wrote sessions", await run(killed, importing, has("sessions", users / 3)))
  show("import, to its end", await run(killed, importing))
  await compare(killed)
  await timed(`${changes} people come, twice as many sessions change, some people go`, () =>
    changeSource(connection, users, changes),
  )
  show("third import", await run(target, importing))
  await compare(target)
} finally {
  if (!values.keep)
    for (const database of [source, target, killed, copied])
      await connection.query(`DROP DATABASE IF EXISTS ${database}`)
  await connection.end()
}

function run(database: string, args: readonly string[], isEnough?: () => Promise<boolean>) {
  const environment = {
    AUTHWIRE_DATABASE_URL: at(database),
    AUTHWIRE_SOURCE_URL: at(source),
    AUTH_SECRET: "a-secret-of-this-measurement-and-of-nobody-else",
  }
  return runCommand(args, environment, { tellsLive: values.live, ...(isEnough && { isEnough }) })
}

async function plainCopy() {
  const login = `-h${server.hostname} -P${server.port || 3306} -u${decodeURIComponent(server.username)}`
  const password = server.password === "" ? {} : { MYSQL_PWD: decodeURIComponent(server.password) }
  // With GTIDs, MySQL's dump would name transactions that the server has already executed, because it is the same
  // server. MariaDB's mysqldump does not have the option.
  const noGtids = "$(mysqldump --help | grep -q set-gtid-purged && echo --set-gtid-purged=OFF)"
  const dump = `mysqldump ${login} ${noGtids} --single-transaction --ignore-table=${source}.numbers ${source}`
  await promisify(execFile)("bash", ["-o", "pipefail", "-c", `${dump} | mysql ${login} ${copied}`], {
    env: { ...process.env, ...password },
  })
}

function has(table: string, enough: number) {
  return async () => {
    const [rows] = await connection.query(`SELECT COUNT(*) AS n FROM ${killed}.${table}`)
    return Number((rows as { n: number }[])[0]?.n) >= enough
  }
}

async function timed(what: string, work: () => Promise<void>) {
  const begun = performance.now()
  await work()
  say(`${what}: ${((performance.now() - begun) / 1000).toFixed(1)} s`)
}

function show(what: string, { seconds, cpuSeconds, peakMib, memoryMib, liveMib, code, output }: Run) {
  const alive = liveMib.length === 0 ? "" : `, alive ${liveMib.join(", ")}`
  const memory = `${peakMib} MiB at most (${memoryMib.join(", ")}${alive})`
  say(`${what}: ${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of the processor, ${memory}, exit code ${code}`)
  process.stdout.write(output.replaceAll(/^(?=.)/gm, "    "))
}

async function compare(target: string) {
  for (const [table, counts] of Object.entries(await compareBySql(connection, source, target))) {
    const [there = 0, here = 0, equal = 0] = counts
    say(`${table}: ${there} in the source, ${here} in Authwire, ${equal} of them equal`)
    if (there !== here || here !== equal) throw new Error(`${table}: the two differ`)
  }
}
