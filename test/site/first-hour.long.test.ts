import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { blocksOf, runBlock } from "@authwire/test-support/applications/pages.js"
import { createDatabase, serviceServer } from "@authwire/test-support/databases/databases.js"
import { type DocumentedUsers, documentedUsers } from "@authwire/test-support/databases/documented-users.js"
import { mysqlPrograms } from "@authwire/test-support/databases/servers.js"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { authority, serverCertificate } from "@authwire/test-support/processes/certificates.js"
import { outputOf } from "@authwire/test-support/processes/output.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"
import { writeClientOptions } from "../backup/options.js"

const root = fileURLToPath(new URL("../..", import.meta.url))
const page = "docs/first-hour-in-production.md"
const programs = mysqlPrograms()
const canRun = serviceServer(["mysql"]) !== undefined && programs !== undefined

;(canRun ? test : test.skip)(`the steps of ${page}, in their order`, async () => {
  const folder = mkdtempSync(join(tmpdir(), "authwire-hour-"))
  const database = await createDatabase("mysql")
  const replicas: { child: ChildProcess; closed: Promise<unknown> }[] = []
  let users: DocumentedUsers | undefined
  try {
    users = await documentedUsers(database)
    writeClientOptions(folder, database.url)
    const name = new URL(database.url).pathname.slice(1)
    const { cert, key } = serverCertificate({ names: ["DNS:localhost", "DNS:authwire.internal"] })
    const [grpc, http, ...metrics] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
    const at = (url: string, port: number) => url.replace(/\d+$/, String(port))
    const completed = (code: string) =>
      code
        .replaceAll("mysql://authwire:PASSWORD@127.0.0.1:3306/authwire", String(users?.service(database.url)))
        .replaceAll("mysql://authwire_owner:PASSWORD@127.0.0.1:3306/authwire", String(users?.owner(database.url)))
        .replaceAll("/etc/systemd/system", `${folder}/systemd`)
        .replaceAll("/etc/authwire", `${folder}/etc`)
        .replaceAll("//authwire.internal:", "//localhost:")
        .replaceAll(/(?<=\]:|localhost:|127\.0\.0\.1:)(50051|8080|9464)/g, (port) =>
          String({ 50051: grpc, 8080: http }[port] ?? metrics[0]),
        )
        .replace(/(?<=gtid-purged=OFF )authwire/, name)
    const blocks = blocksOf(page).map(({ code }) => completed(code))
    const [
      installed = "",
      secrets = "",
      tables = "",
      unit = "",
      keys = "",
      systemd = "",
      ready = "",
      consoleOf = "",
      ...rest
    ] = blocks
    const [backup = "", watched = "", ...others] = rest
    expect([systemd, consoleOf, others]).toEqual([
      expect.stringContaining("systemctl enable"),
      expect.stringContaining("authwire console"),
      [],
    ])
    const environment = `set -a && . ${folder}/etc/environment && set +a\n`
    const run = (code: string) => runBlock(code, folder, {}, programs)

    mkdirSync(`${folder}/systemd`)
    const { NODE_OPTIONS: _, ...own } = process.env as Record<string, string>
    // With the settings and caches of npm, but into a folder of its own.
    const ofNpm = { ...own, npm_config_prefix: `${folder}/global` }
    expect(await runBlock(`cd ${root}\n${installed}`, folder, ofNpm)).toMatch(/^authwire \d+\.\d+\.\d+$/m)
    expect(await runBlock(`${folder}/global/bin/authwire --version`, folder)).toMatch(/^authwire /)
    await run(secrets)
    writeFileSync(`${folder}/etc/tls.crt`, cert)
    writeFileSync(`${folder}/etc/tls.key`, key, { mode: 0o600 })
    writeFileSync(`${folder}/etc/ca.crt`, authority.cert)
    expect(await run(environment + tables)).toMatch(/0001-initial/)
    expect(await run(environment + unit)).toContain("OK")
    expect(await run(`${environment}${keys}echo "$AUTHWIRE_API_KEY" > key`)).toMatch(/^awk_[\s\S]* shop [\s\S]* ann /)
    const asAnn = (code: string) => run(`export AUTHWIRE_API_KEY=$(cat key)\n${code}`)

    // As systemd does.
    const tls = `AUTHWIRE_TLS_CERT=${folder}/etc/tls.crt AUTHWIRE_TLS_KEY=${folder}/etc/tls.key`
    for (const port of metrics) {
      const serve = `${environment}${tls} exec authwire serve --reuse-port --metrics-addr=127.0.0.1:${port}`
      const env = { PATH: `${process.cwd()}/node_modules/.bin:${process.env.PATH}` }
      const child = spawn("bash", ["-c", serve], { env, cwd: folder, stdio: ["ignore", "pipe", "pipe"] })
      const output = outputOf(child)
      replicas.push({ child, closed: once(child, "close") })
      const answers = () => fetch(at("http://127.0.0.1:0", port)).then(Boolean, () => false)
      await until(async () => child.exitCode !== null || (await answers()), 60_000)
      if (child.exitCode !== null) throw new Error(output.both)
    }
    expect(await asAnn(ready)).toMatch(/^ready/)
    const stopped = replicas.shift()
    stopped?.child.kill("SIGTERM")
    await stopped?.closed
    expect(await asAnn(ready)).toMatch(/^ready/)

    expect(await run(backup)).toContain("Dump completed")
    expect(await run(watched.replaceAll(String(metrics[0]), String(metrics[1])))).toMatch(/^authwire_database_up 1$/m)
  } finally {
    for (const { child, closed } of replicas) {
      child.kill("SIGTERM")
      await closed
    }
    await users?.drop()
    await database.drop()
    rmSync(folder, { recursive: true, force: true })
  }
})
