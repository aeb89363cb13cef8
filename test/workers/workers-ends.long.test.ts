import { createDatabase, describeServer, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import {
  connection,
  healthAnswers,
  isGone,
  logOf,
  untilHealth,
  workersOf,
} from "@authwire/test-support/processes/workers.js"
import { until } from "@authwire/test-support/until.js"
import { Code, ConnectError } from "@connectrpc/connect"
import { afterAll, beforeAll, expect, test } from "@jest/globals"

const pidsOf = (server: ServerProcess) => [server.pid, ...workersOf(server).values()]

/** Kills a worker, and waits until its replacement listens. */
async function replace(server: ServerProcess, worker: number): Promise<void> {
  const before = workersOf(server).get(worker) as number
  process.kill(before, "SIGKILL")
  await until(() => workersOf(server).get(worker) !== before)
}

const replacements = (server: ServerProcess) =>
  logOf(server).filter(({ msg }) => msg === "a worker has exited: starting another one")

describeServer("one of two workers is killed", (target) => {
  let database: TestDatabase
  let server: ServerProcess
  beforeAll(async () => {
    database = await createDatabase(target)
    server = await startServer({ databaseUrl: database.url, args: ["--workers=2"] })
  })
  afterAll(async () => {
    expect(await server.stop()).toBe(0)
    await database.drop()
  })

  test("under load: only calls on its connections fail, health stays SERVING, and it is replaced", async () => {
    const victim = workersOf(server).get(1) as number
    const callers = Array.from({ length: 10 }, () => ({ ...connection(server.grpcUrl), last: "", failures: 0 }))
    let ending = false
    const loops = callers.map(async (caller, index) => {
      for (let count = 0; !ending; count++) {
        const requestId = `caller-${index}-${count}`
        await caller.users
          .getUser({ id: "nobody" }, { headers: { "x-request-id": requestId }, timeoutMs: 15_000 })
          .catch((error) => {
            if (ConnectError.from(error).code === Code.NotFound) caller.last = requestId
            else caller.failures++
          })
      }
    })
    const workerOf = (requestId: string) => logOf(server).find(({ request_id }) => request_id === requestId)?.worker
    await until(() => callers.every(({ last }) => last !== ""))
    await until(() => callers.every(({ last }) => workerOf(last) !== undefined))
    const ofVictim = callers.filter(({ last }) => workerOf(last) === 1)
    expect(ofVictim.length).toBeGreaterThan(0)
    expect(ofVictim.length).toBeLessThan(callers.length)

    process.kill(victim, "SIGKILL")
    const answers = new Set<string>()
    await until(async () => {
      // A new connection may have been queued for the worker that died.
      for (const answer of await healthAnswers(server, 2).catch(() => [])) answers.add(answer)
      return workersOf(server).get(1) !== victim
    })
    for (const answer of await healthAnswers(server)) answers.add(answer)
    // On a very busy machine the database may respond so late that health fails, which the log reports.
    const isBusy = logOf(server).some(({ msg }) => String(msg).startsWith("the database does not answer"))
    expect([...answers].filter((answer) => answer !== "SERVING" && !isBusy)).toEqual([])
    // Every caller continues.
    const before = callers.map(({ last }) => last)
    await until(() => callers.every(({ last }, index) => last !== before[index]))
    ending = true
    await Promise.all(loops)
    for (const { close } of callers) close()
    const failed = callers.filter(({ failures }) => failures > 0)
    expect(failed.filter((caller) => !ofVictim.includes(caller))).toEqual([])
    expect(replacements(server)).toMatchObject([{ worker: 1, pid: victim, signal: "SIGKILL", replaced_in_ms: 0 }])
  })

  test("repeatedly, soon after its start: it is replaced after growing delays", async () => {
    const fresh = await startServer({ databaseUrl: database.url, args: ["--workers=2"] })
    for (let round = 0; round < 3; round++) await replace(fresh, 1)
    await replace(fresh, 2)
    const delays = replacements(fresh).map(({ worker, replaced_in_ms }) => [worker, replaced_in_ms])
    expect(delays).toEqual([
      [1, 0],
      [1, 500],
      [1, 1000],
      [2, 0],
    ])
    expect(await fresh.stop()).toBe(0)
  })

  test("both at the same time: the same ports answer again", async () => {
    const before = workersOf(server)
    for (const pid of before.values()) process.kill(pid, "SIGKILL")
    await until(() => [...workersOf(server)].every(([worker, pid]) => pid !== before.get(worker)))
    await untilHealth(server, "SERVING")
  })
})

describeServer("two workers with active calls", (target) => {
  let database: TestDatabase
  let server: ServerProcess
  let callers: ReturnType<typeof connection>[]
  let creating: Promise<PromiseSettledResult<unknown>[]>
  const count = 6
  // Every call waits for a lock, on connections of both workers.
  async function begin(args: string[] = []) {
    database = await createDatabase(target)
    server = await startServer({
      databaseUrl: database.url,
      args: ["--workers=2", "--shutdown-grace-ms=600000", ...args],
    })
    callers = Array.from({ length: count }, () => connection(server.grpcUrl))
    await Promise.all(callers.map(({ health }) => health.check({})))
    const share = (worker: number) => logOf(server).filter((line) => line.msg === "call" && line.worker === worker)
    await until(() => share(1).length + share(2).length === count)
    expect([share(1).length, share(2).length]).not.toContain(0)
    await database.query("BEGIN")
    for (let index = 0; index < count; index++) {
      const values = [`other-${index}`, `${index}@example.com`]
      await database.query("INSERT INTO users (tenant, id, email_key, extra) VALUES ('default', ?, ?, '{}')", values)
    }
    creating = Promise.allSettled(
      callers.map(({ users }, index) => users.createUser({ id: `user-${index}`, email: `${index}@example.com` })),
    )
    // Sent later on the same connections: when these calls are answered, the other ones wait in the database.
    await Promise.all(callers.map(({ users }) => users.getUser({ id: "nobody" }).catch(() => {})))
  }
  async function release() {
    await database.query("ROLLBACK")
    const outcomes = (await creating).map(({ status }) => status)
    for (const { close } of callers) close()
    return outcomes
  }
  const fulfilled = Array(count).fill("fulfilled")
  const isLogged = (text: string, times: number) => () =>
    logOf(server).filter(({ msg }) => String(msg).startsWith(text)).length === times

  test("Ctrl-C, which all processes get: all report NOT_SERVING, the calls finish, exit code 0, no process is left", async () => {
    await begin()
    const last: number[] = []
    const watching = callers.map(async ({ health }) => {
      for await (const { status } of health.watch({})) last.push(status)
    })
    await until(() => last.length === count)
    const pids = pidsOf(server)
    for (const pid of pids.toReversed()) process.kill(pid, "SIGINT")
    await until(isLogged("stopping", 1))
    await Promise.allSettled(watching)
    expect(last.toSorted()).toEqual([...Array(count).fill(1), ...Array(count).fill(2)])
    // SIGCONT has no effect, so this only waits for the exit.
    const stopped = server.stop("SIGCONT")
    expect(await release()).toEqual(fulfilled)
    expect(await stopped).toBe(0)
    await until(() => pids.every(isGone))
    expect(isLogged("stopped", 1)()).toBe(true)
    expect(await database.query("SELECT COUNT(*) AS n FROM users")).toEqual([{ n: count }])
    await database.drop()
  })

  test("after the grace period the calls end with UNAVAILABLE, exit code 0", async () => {
    await begin(["--shutdown-grace-ms=100"])
    expect(await server.stop("SIGTERM")).toBe(0)
    for (const outcome of await creating) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: Code.Unavailable } })
    }
    await release()
    await database.drop()
  })

  test("a second signal ends all processes immediately", async () => {
    await begin()
    const pids = pidsOf(server)
    process.kill(server.pid, "SIGTERM")
    await until(isLogged("stopping", 1))
    // Resolves when the last process that holds its outputs has ended; null because the signal killed it.
    expect(await server.stop("SIGTERM")).toBeNull()
    expect(logOf(server).filter(({ method }) => String(method).endsWith("CreateUser"))).toEqual([])
    await until(() => pids.every(isGone))
    expect(await release()).toEqual(Array(count).fill("rejected"))
    await database.drop()
  })

  test("SIGKILL of the primary: the workers finish the calls, and exit", async () => {
    await begin()
    const pids = pidsOf(server)
    process.kill(server.pid, "SIGKILL")
    await until(isLogged("the primary process has exited", 2))
    expect(await release()).toEqual(fulfilled)
    expect(await server.stop("SIGCONT")).toBeNull()
    await until(() => pids.every(isGone))
    await database.drop()
  })
})
