import { createAuthwireClient } from "@authwire/client"
import { createAuthwireClient as createEdgeClient } from "@authwire/client/edge"
import { healthAnswers } from "@authwire/test-support/connections/health.js"
import { createDatabase } from "@authwire/test-support/databases/databases.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { unreadPipe } from "@authwire/test-support/machine/unread-pipe.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { describe, expect, test } from "@jest/globals"

const later = endsAfterEach()
const serving = new Set(["SERVING"])

/** Parses lines of JSON. Throws if a line is incomplete. */
const linesOf = (text: string): Record<string, unknown>[] =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line))

/** Starts a server whose standard error is not read. */
async function startUnread(options: Partial<Parameters<typeof startServer>[0]>) {
  const database = await createDatabase("sqlite")
  later(database.drop)
  const pipe = unreadPipe()
  later(async () => pipe.close())
  const server = await startServer({ databaseUrl: database.url, prefix: pipe.prefix, ...options })
  later(() => server.stop("SIGKILL"))
  const grpc = createAuthwireClient({ url: server.grpcUrl, apiKey: server.apiKey })
  later(async () => grpc.close())
  const http = createEdgeClient({ url: server.httpUrl, apiKey: server.apiKey })
  return { database, pipe, server, grpc, http }
}

/** Makes `total` calls, twelve at a time. */
async function callers(total: number, call: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const caller = async () => {
    while (next < total) await call(next++)
  }
  await Promise.all(Array.from({ length: 12 }, caller))
}

describe("S-49: standard error is a pipe that is not read", () => {
  // More than the pipe and the service can buffer.
  const count = 7_000

  test.each(["json", "text"])("calls and health are answered, and the log reports lost lines: %s", async (format) => {
    const { pipe, server, grpc, http } = await startUnread({ args: [`--log-format=${format}`] })
    await callers(count, () => grpc.adapter.getUser("nobody"))
    await callers(100, () => http.adapter.getUser("nobody"))
    expect(new Set(await healthAnswers(server, 2))).toEqual(serving)

    const isLoss = (line: string) => line.includes("lines of the log are lost")
    await until(() => pipe.read().split("\n").some(isLoss))
    await grpc.adapter.getUser("nobody")
    const isCall = (line: string) => line.includes("UserService/GetUser")
    const lines = () => pipe.read().split("\n").slice(0, -1)
    await until(() => isCall(lines().at(-1) ?? "") && lines().findIndex(isLoss) < lines().length - 1)
    const losses = lines().filter(isLoss)
    expect(losses).toHaveLength(1)
    const lost = Number(/"lines":(\d+)/.exec(losses[0] as string)?.[1])
    const told = lines().filter(isCall).length
    // Health checks are in the log too.
    expect(told + lost).toBeGreaterThanOrEqual(count + 101)
    expect(told + lost).toBeLessThan(count + 120)
    if (format === "json") linesOf(pipe.read())
    expect(await server.stop()).toBe(0)
    expect(lines().at(-1)).toContain("stopped")
  })

  test("the service stops without waiting for a reader", async () => {
    const { server, grpc } = await startUnread({ args: ["--shutdown-grace-ms=600000"] })
    await callers(1_000, () => grpc.adapter.getUser("nobody"))
    expect(await server.stop()).toBe(0)
  })

  test("a closed reader does not end the service", async () => {
    const { pipe, server, grpc, http } = await startUnread({})
    pipe.close()
    await callers(1_000, () => grpc.adapter.getUser("nobody"))
    await callers(10, () => http.adapter.getUser("nobody"))
    expect(await server.stop()).toBe(0)
  })

  test("lines of the audit log are lost too, and their loss is reported", async () => {
    const { pipe, server, grpc } = await startUnread({ keys: true, args: ["--log-level=error", "--rate-limit=0"] })
    await callers(count, (index) => grpc.adapter.deleteUser(`user-${index}`))
    expect(new Set(await healthAnswers(server, 2))).toEqual(serving)
    const lost = () => linesOf(pipe.read()).find(({ event }) => event === "audit-lost")
    await until(() => lost() !== undefined)
    const audited = () => linesOf(pipe.read()).filter(({ event }) => event === "audit")
    await until(() => audited().length + Number(lost()?.lines) === count)
    await until(() => linesOf(pipe.read()).some(({ msg }) => String(msg).startsWith("lines of the audit log are lost")))
  })
})
