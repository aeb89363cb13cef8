import { connect as connectTcp } from "node:net"
import { http1Request } from "@authwire/test-support/attack/raw-sockets.js"
import { enveloped, header, paths } from "@authwire/test-support/attack/requests.js"
import { attackConnection, endOf } from "@authwire/test-support/attack/streams.js"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { openService } from "@authwire/test-support/processes/service.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"
import { pino } from "pino"
import { openHttpListener } from "../../server/src/transport/connect/http.js"
import { limits } from "../../server/src/transport/limits/limits.js"
import type { Listener } from "../../server/src/transport/listener/listener.js"
import { formatAddress } from "../../server/src/util/address.js"
import { sharedLimits } from "../../server/src/util/shared-limits.js"

const target = serviceDatabase()
const owner = { tenant: "default", keyId: "key" }
const authorizePath = "/v1/authorize"

/** A log line of one call, or of several that were only counted. */
interface LogLine {
  method?: string
  rejected?: { method: string; calls: number }[]
  answered?: { method: string; calls: number }[]
}

describe("calls at the HTTP listener whose clients disconnect", () => {
  let database: Awaited<ReturnType<typeof createStoreDatabase>>
  let service: ReturnType<typeof openService>
  let listener: Listener
  let url: string
  let lines: LogLine[]
  /** The number of calls whose requests were closed before they were admitted. */
  let abandoned: number
  /** Authentication waits for it. */
  let gate: Promise<void> | undefined
  beforeAll(async () => {
    if (target !== undefined) database = await createStoreDatabase(target)
  })
  afterAll(() => database.drop())
  beforeEach(async () => {
    lines = []
    abandoned = 0
    gate = undefined
    service = openService(await database.openStore(), {
      log: pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) }),
      access: {
        admit: ({ parent }) =>
          parent.typeName.startsWith("grpc.")
            ? undefined
            : (call) => {
                call.signal.addEventListener("abort", () => abandoned++)
                call.identity = { ...owner, hasScope: () => true }
                return gate
              },
      },
    })
    listener = await openHttpListener(service.transport)
    url = `http://${formatAddress(listener.address)}`
  })
  afterEach(async () => {
    listener.stopAccepting()
    await service.router.drain(1_000)
    await listener.closed(0)
  })

  /** Returns the number of ended calls of a method, by its path. */
  const ended = (path: string) => {
    const named = (line: { method?: string }) => `/${line.method}` === path
    const counted = lines.flatMap(({ rejected = [], answered = [] }) => [...rejected, ...answered]).filter(named)
    return lines.filter(named).length + counted.reduce((sum, { calls }) => sum + calls, 0)
  }

  test.each([
    ["POST", paths.getUser, paths.getUser],
    ["GET", authorizePath, "/envoy.service.auth.v3.Authorization/Check"],
  ])("%s %s: they take nothing of the key's budget of response bytes", async (method, path, called) => {
    const count = 50
    const type = "application/json"
    const connection = attackConnection(url)
    // From this call on, the connection is charged to the key.
    const known = connection.open(header(paths.getUser, { type }), Buffer.from("{}"))
    expect(await endOf(known)).toBe("400 NO_ERROR")
    const before = ended(called)
    const { promise, resolve } = Promise.withResolvers<void>()
    gate = promise
    for (let made = 0; made < count; made++) connection.open({ ...header(path, { type }), ":method": method })
    await connection.seen()
    connection.close()
    await until(() => abandoned === count)
    resolve()
    await until(() => ended(called) === before + count)
    // The whole budget is free.
    expect(service.transport.keyBudgets.of(owner).answers.take(sharedLimits.answerBytes.key)).toBe(true)
  })

  test("they end, even streams of HTTP/1.1 that are queued behind another one", async () => {
    const body = enveloped(Buffer.from("{}"))
    const watch = http1Request(paths.watch, { method: "POST", type: "application/connect+json", body })
    const socket = connectTcp(Number(new URL(url).port), "127.0.0.1")
    socket.write(Buffer.concat(Array.from({ length: limits.pipelinedRequests }, () => watch)))
    await new Promise((resolve) => socket.once("data", resolve))
    socket.destroy()
    await until(() => ended(paths.watch) === limits.pipelinedRequests)
  })
})
