import { randomBytes } from "node:crypto"
import { HealthCheckResponse_ServingStatus as Status } from "@authwire/proto/health"
import {
  createDatabase,
  describeServer,
  type TestDatabase,
  tcpProxy,
} from "@authwire/test-support/databases/databases.js"
import { createUser, dropUser, endConnections, limitConnections } from "@authwire/test-support/databases/server-sql.js"
import { run, startServer, testSecret } from "@authwire/test-support/processes/server.js"
import { connection, healthAnswers, logOf, untilHealth } from "@authwire/test-support/processes/workers.js"
import { until } from "@authwire/test-support/until.js"
import { describe, expect, test } from "@jest/globals"

describe("--workers", () => {
  test("an unescaped password is not printed either if it is parsed as the path of the URL", async () => {
    const { code, stderr } = await run(["serve", "--database-url=mysql://127.0.0.1:1/hunter2@db:3306/authwire"], {
      AUTH_SECRET: testSecret,
    })
    expect(stderr).toMatch(
      /^authwire: cannot open the database at mysql:\/\/127\.0\.0\.1@db:3306\/authwire \(ECONNREFUSED\).*\n$/,
    )
    expect(code).toBe(1)
  })

  test.each([
    ["127.0.0.1:1", "ECONNREFUSED"],
    ["127.0.0.1:1,127.0.0.1:2", "127.0.0.1:1: ECONNREFUSED; 127.0.0.1:2: ECONNREFUSED"],
  ])("an unreachable database at %s: one line without the password, exit code 1", async (hosts, cause) => {
    const args = ["serve", "--workers=2", `--database-url=mysql://user:hunter2@${hosts}/authwire?ssl-mode=DISABLED`]
    const { code, stdout, stderr } = await run(args, { AUTH_SECRET: testSecret })
    expect(stderr).toMatch(/^authwire: cannot open the database at mysql:\/\/user@[\d.:,]+\/authwire \(.*\n$/)
    expect(stderr).toContain(hosts)
    expect(stderr).toContain(cause)
    expect(stderr).not.toContain("hunter2")
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
  })
})

/** A database user with this maximum number of concurrent connections. */
async function limitedUser(database: TestDatabase, connections: number) {
  const name = `authwire_${randomBytes(6).toString("hex")}`
  const url = await createUser(database, name, "secret")
  const limit = (count: number) => limitConnections(database, name, count)
  await limit(connections)
  return {
    url,
    limit,
    disconnect: () => endConnections(database, name),
    drop: () => dropUser(database, name),
  }
}

describeServer("--workers", (target) => {
  test("the listeners are announced once; both workers get connections of both, and write whole lines", async () => {
    const database = await createDatabase(target)
    const server = await startServer({ databaseUrl: database.url, args: ["--workers=2"] })
    expect(server.output().match(/listener at/g)).toHaveLength(2)
    expect(logOf(server).filter(({ msg }) => msg === "migration applied").length).toBeGreaterThan(0)
    expect(logOf(server).filter(({ msg, worker }) => msg === "migration applied" && worker !== undefined)).toEqual([])
    // The first response after the announcement is already correct.
    expect(new Set(await healthAnswers(server, 5))).toEqual(new Set(["SERVING"]))
    const called = () => logOf(server).filter(({ msg }) => msg === "call")
    // Of calls without a key, a worker writes ten lines a second. It only counts further ones.
    await until(() => called().length === 10)
    // A busy worker gets its next connection only after it has accepted the last one, so a worker may get none of five.
    const served = () => new Set(called().map(({ transport, worker }) => `${transport} ${worker}`))
    await until(async () => served().size === 4 || (await healthAnswers(server, 10)).length === 0)
    expect([...served()].sort()).toEqual(["grpc 1", "grpc 2", "http 1", "http 2"])
    expect(await server.stop()).toBe(0)
    for (const msg of ["stopping: finishing the active calls", "stopped"]) {
      expect(logOf(server).filter((line) => line.msg === msg)).toHaveLength(1)
    }
    await database.drop()
  })

  test("the database is cut off: all workers report that, also in streams, and the recovery", async () => {
    const database = await createDatabase(target)
    const direct = new URL(database.url)
    const proxy = await tcpProxy(Number(direct.port || 3306), direct.hostname)
    const url = new URL(direct)
    url.host = `127.0.0.1:${proxy.port}`
    const server = await startServer({ databaseUrl: url.href, args: ["--workers=2"] })
    const watchers = Array.from({ length: 6 }, (_, index) =>
      connection(index % 2 === 0 ? server.grpcUrl : server.httpUrl),
    )
    const seen = watchers.map(() => [] as string[])
    const watching = watchers.map(async ({ health }, index) => {
      for await (const { status } of health.watch({})) seen[index]?.push(Status[status])
    })
    await until(() => seen.every((statuses) => statuses.length === 1))
    await proxy.cut()
    await untilHealth(server, "NOT_SERVING")
    await proxy.restore()
    await untilHealth(server, "SERVING")
    await until(() => seen.every((statuses) => statuses.length === 3))
    expect(await server.stop()).toBe(0)
    await Promise.allSettled(watching)
    expect(seen).toEqual(watchers.map(() => ["SERVING", "NOT_SERVING", "SERVING", "NOT_SERVING"]))
    for (const { close } of watchers) close()
    await proxy.close()
    await database.drop()
  })

  test("one worker has no database and the other has: both report NOT_SERVING", async () => {
    const database = await createDatabase(target)
    const user = await limitedUser(database, 0)
    const server = await startServer({ databaseUrl: user.url, args: ["--workers=2"] })
    await user.limit(1)
    await user.disconnect()
    await untilHealth(server, "NOT_SERVING")
    const without = () => logOf(server).filter(({ msg }) => String(msg).startsWith("the database does not answer"))
    expect(without()).toHaveLength(1)
    for (let round = 0; round < 5; round++) {
      expect(new Set(await healthAnswers(server))).toEqual(new Set(["NOT_SERVING"]))
    }
    await user.limit(0)
    await untilHealth(server, "SERVING")
    expect(without()).toHaveLength(1)
    expect(await server.stop()).toBe(0)
    await user.drop()
    await database.drop()
  })

  test("a worker that cannot start: one line, exit code 1, and no process is left", async () => {
    const database = await createDatabase(target)
    const user = await limitedUser(database, 1)
    const args = ["serve", "--dev", "--workers=2", "--grpc-addr=127.0.0.1:0", "--http-addr=off", "--log-level=warn"]
    // Resolves when the last process that holds its outputs has ended.
    const { code, stdout, stderr } = await run([...args, `--database-url=${user.url}`], { AUTH_SECRET: testSecret })
    expect(stderr).toMatch(/^authwire: cannot open the database .*\((ER_|53300).*\n$/)
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    await user.drop()
    await database.drop()
  })
})
