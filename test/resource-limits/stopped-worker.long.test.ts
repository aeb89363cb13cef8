import http from "node:http"
import { createDatabase, type ServerEngine, testOnServer } from "@authwire/test-support/databases/databases.js"
import type { Later } from "@authwire/test-support/endings.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { connection, healthAnswers, isGone, logOf, workersOf } from "@authwire/test-support/processes/workers.js"
import { until } from "@authwire/test-support/until.js"
import { describe, expect } from "@jest/globals"

describe("one of two workers hangs", () => {
  async function start(later: Later, target: ServerEngine, args: string[] = []) {
    const database = await createDatabase(target)
    later(database.drop)
    const server = await startServer({ databaseUrl: database.url, args: ["--workers=2", ...args] })
    later(() => server.stop("SIGKILL"))
    const victim = workersOf(server).get(1) as number
    return { server, victim }
  }

  testOnServer(
    "it is killed and replaced, one line reports that, and the clients of its connections wait for their own timeouts",
    async (later, target) => {
      const { server, victim } = await start(later, target)
      process.kill(victim, "SIGSTOP")
      const timeoutMs = 12_000
      const outcomes: string[] = []
      const viaHttp = () =>
        new Promise<string>((resolve) => {
          const request = http.get(`${server.httpUrl}/healthz`, { agent: false, timeout: timeoutMs }, (response) => {
            response.resume().once("end", () => resolve("answered"))
          })
          request.once("error", () => resolve("broken"))
          request.once("timeout", () => request.destroy())
        })
      const viaGrpc = async () => {
        const { health, close } = connection(server.grpcUrl)
        try {
          return await health.check({}, { timeoutMs }).then(
            () => "answered",
            () => "broken",
          )
        } finally {
          close()
        }
      }
      await Promise.all(
        Array.from({ length: 12 }, async (_, index) => outcomes.push(await (index % 2 ? viaHttp() : viaGrpc()))),
      )
      // It was given one connection at each listener. Node gives it no other before it accepts that one.
      expect(outcomes.toSorted()).toEqual([...Array(10).fill("answered"), "broken", "broken"])
      await until(() => workersOf(server).get(1) !== victim)
      expect(isGone(victim)).toBe(true)
      expect(logOf(server).filter(({ msg }) => msg === "a worker has exited: starting another one")).toMatchObject([
        { worker: 1, pid: victim, signal: "SIGKILL", reason: "it has been unresponsive for 10 seconds" },
      ])
      expect(new Set(await healthAnswers(server))).toEqual(new Set(["SERVING"]))
      expect(await server.stop()).toBe(0)
    },
  )

  testOnServer("a shutdown does not wait for it as long as for calls", async (later, target) => {
    const { server, victim } = await start(later, target, ["--shutdown-grace-ms=600000"])
    process.kill(victim, "SIGSTOP")
    expect(await server.stop()).toBe(1)
    expect(isGone(victim)).toBe(true)
    expect(logOf(server).filter(({ msg }) => msg === "a worker did not exit cleanly")).toMatchObject([
      { worker: 1, pid: victim, reason: "it has been unresponsive for 10 seconds" },
    ])
  })
})
