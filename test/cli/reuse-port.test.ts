import { createAuthwireClient } from "@authwire/client"
import { healthAnswers } from "@authwire/test-support/connections/health.js"
import { createDatabase, type TestDatabase, testOnServer } from "@authwire/test-support/databases/databases.js"
import type { Later } from "@authwire/test-support/endings.js"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { logOf } from "@authwire/test-support/processes/log.js"
import { run, type ServerProcess, startServer, testSecret } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { describe, expect } from "@jest/globals"

/** Whether a process has answered a CreateUser since its log had this length. */
const creates = (server: ServerProcess, since: number) => server.log().indexOf("UserService/CreateUser", since) !== -1

describe("processes with --reuse-port", () => {
  async function start(later: Later, { url }: TestDatabase) {
    const ports = [`--grpc-addr=127.0.0.1:${await freePort()}`, `--http-addr=127.0.0.1:${await freePort()}`]
    const one = async (...args: string[]) => {
      const server = await startServer({ databaseUrl: url, args: ["--reuse-port", ...ports, ...args] })
      later(() => server.stop("SIGKILL"))
      return server
    }
    return { one, ports }
  }

  testOnServer("share both ports, and each reports its own health", async (later, target) => {
    const database = await createDatabase(target)
    later(database.drop)
    const { one } = await start(later, database)
    const [first, second] = [await one(), await one()]
    expect([second.grpcUrl, second.httpUrl]).toEqual([first.grpcUrl, first.httpUrl])
    // Of calls without a key, a process writes ten lines a second. It only counts further ones.
    const served = (server: ServerProcess) => new Set(logOf(server).flatMap(({ transport }) => transport ?? []))
    await until(async () => {
      expect(new Set(await healthAnswers(first, 4))).toEqual(new Set(["SERVING"]))
      return served(first).size === 2 && served(second).size === 2
    })
  })

  testOnServer(
    "are replaced one after the other while clients call: no call fails, and the ports never close",
    async (later, target) => {
      const database = await createDatabase(target)
      later(database.drop)
      const { one } = await start(later, database)
      let [leaving, staying] = [await one(), await one()]
      const url = leaving.grpcUrl
      const failures: unknown[] = []
      const callers: { rounds: number; ended: Promise<void> }[] = []
      let ending = false
      const begin = () => {
        // Clients with the same options share a connection.
        // With more time than by default, because it is no matter here how long a call takes on a busy machine.
        const client = createAuthwireClient({ url, headers: { "x-client": crypto.randomUUID() }, timeoutMs: 30_000 })
        later(async () => client.close())
        const caller = { rounds: 0, ended: Promise.resolve() }
        const loop = async () => {
          for (; !ending && failures.length === 0; caller.rounds++) {
            const id = crypto.randomUUID()
            await client.adapter.createUser({ id, email: `${id}@example.com`, emailVerified: null })
            await client.adapter.getUser(id)
          }
        }
        caller.ended = loop().catch((error) => void failures.push(error))
        callers.push(caller)
      }
      for (let round = 0; round < 2; round++) {
        // New clients, until both processes have some of them.
        const most = callers.length + 16
        const begun = [leaving, staying].map((server) => server.log().length)
        await until(async () => {
          if (callers.length < most) begin()
          expect(failures).toEqual([])
          return [leaving, staying].every((server, index) => creates(server, begun[index] as number))
        })
        const before = staying.log().length
        expect(await leaving.stop()).toBe(0)
        // It has answered its active calls itself. Neither the pipeline that carries them nor a check of a connection is one.
        const calls = logOf(leaving).filter(
          ({ msg, method }) => msg === "call" && String(method).includes("UserService"),
        )
        expect(calls.filter(({ code }) => code !== "OK")).toEqual([])
        const rounds = callers.map((caller) => caller.rounds)
        await until(() => {
          expect(failures).toEqual([])
          return callers.every((caller, index) => caller.rounds > (rounds[index] ?? 0) + 1)
        })
        expect(creates(staying, before)).toBe(true)
        ;[leaving, staying] = [staying, await one()]
      }
      ending = true
      await Promise.all(callers.map(({ ended }) => ended))
      expect(failures).toEqual([])
    },
  )

  testOnServer("share neither a port without the option nor that of the metrics", async (later, target) => {
    const database = await createDatabase(target)
    later(database.drop)
    const { one, ports } = await start(later, database)
    const metrics = `--metrics-addr=127.0.0.1:${await freePort()}`
    await one(metrics)
    const fails = async (args: string[], expected: RegExp) => {
      const env = { AUTH_SECRET: testSecret, AUTHWIRE_DATABASE_URL: database.url }
      const { code, stderr } = await run(["serve", "--dev", "--console=off", "--log-level=fatal", ...args], env)
      expect(stderr).toMatch(expected)
      expect(code).toBe(1)
    }
    await fails(ports, /^authwire: --grpc-addr: 127\.0\.0\.1:\d+ is in use by another process: .*\n$/)
    const expected = /^authwire: --metrics-addr: 127\.0\.0\.1:\d+ is in use by another process: .*\n$/
    await fails(["--reuse-port", ...ports, metrics], expected)
  })
})
