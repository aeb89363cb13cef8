import { readFileSync } from "node:fs"
import { GetUserRequestSchema } from "@authwire/proto"
import { pipelineClient, tally } from "@authwire/test-support/connections/pipeline.js"
import { type RawPipeline, rawPipelines } from "@authwire/test-support/connections/raw-pipeline.js"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { create, toBinary } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const transports = ["grpc", "http"] as const

const target = serviceDatabase()

describe("a client that does not read its responses", () => {
  let database: TestDatabase
  let server: ServerProcess
  let other: ReturnType<typeof pipelineClient>
  beforeAll(async () => {
    database = await createDatabase(target)
    // A concurrency limit above the number of calls, because queued calls are rejected after half a second.
    const args = ["--log-level=warn", "--shutdown-grace-ms=500", "--max-active-calls=20000"]
    server = await startServer({ databaseUrl: database.url, args })
    other = pipelineClient({ url: server.grpcUrl })
    const image = "x".repeat(200_000)
    await other.adapter.createUser({ id: "large", name: "n", image, email: "large@example.com", emailVerified: null })
  })
  afterAll(async () => {
    other.close()
    await server.stop()
    await database.drop()
  })

  const rejected = Array.from({ length: 1000 }, (_, id) => ({ id, method: "none", message: new Uint8Array() }))

  /** Resolves after so many calls of another client that the service must have stopped reading the stalled one. */
  const whileOthersAreServed = async () => {
    for (let count = 0; count < 300; count++) expect(await other.adapter.getUser("nobody")).toBeNull()
    return "not heard" as const
  }

  /** Sends until the service stops reading. Resolves to the number of messages sent. */
  async function fill(stream: RawPipeline, most: number, request: (index: number) => object): Promise<number> {
    await stream.opened
    for (let index = 0; index < most; index++) {
      const hasSpace = stream.send(request(index))
      // Yields to grpc-js, which buffers one MiB before it reports that there is no space.
      await new Promise((resolve) => setImmediate(resolve))
      if (hasSpace) continue
      const heard = stream.space().then(() => "heard")
      if ((await Promise.race([heard, whileOthersAreServed()])) === "not heard") return index + 1
    }
    return most
  }

  test.each(transports)(
    "and sends more and more calls through the %s listener is not read until it reads",
    async (transport) => {
      const raw = rawPipelines(transport === "grpc" ? server.grpcUrl : server.httpUrl)
      const stream = raw.open()
      const message = toBinary(GetUserRequestSchema, create(GetUserRequestSchema, { id: "large" }))
      const header = { "x-padding": "x".repeat(4000) }
      const method = "authwire.v1.UserService/GetUser"
      const before = residentMb(server.pid)
      const sent = await fill(stream, 20_000, (id) => ({ calls: [{ id, method, message, header }] }))
      expect(sent).toBeLessThan(20_000)
      expect(residentMb(server.pid) - before).toBeLessThan(500)

      const outcomes: string[] = []
      await new Promise<void>((resolve) => {
        stream.read(({ outcome }) => {
          const other = outcome.case === "error" ? outcome.value.message : String(outcome.case)
          outcomes.push(outcome.case === "message" && outcome.value.length > 200_000 ? "large" : other)
          if (outcomes.length === sent) resolve()
        })
      })
      // On a slow machine more calls begin before the first answers wait, so that the budget has no space for all answers.
      const { large = 0, "the client does not read the responses of earlier calls": notTaken = 0 } = tally(outcomes)
      expect(large + notTaken).toBe(sent)
      expect(large).toBeGreaterThan(notTaken)
      stream.finish()
      expect((await stream.ended).code).toBe(0)
      raw.close()
    },
  )

  test.each(transports)("and waits at the %s listener does not keep the server from stopping", async (transport) => {
    const one = await startServer({ databaseUrl: database.url, args: ["--log-level=warn", "--shutdown-grace-ms=500"] })
    const raw = rawPipelines(transport === "grpc" ? one.grpcUrl : one.httpUrl)
    const stream = raw.open()
    await fill(stream, 500, () => ({ calls: rejected }))
    expect(await one.stop("SIGTERM")).toBe(0)
    raw.close()
  })
})

/** The resident memory of a process, in MiB. */
function residentMb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024
}
