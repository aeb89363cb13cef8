import { connection } from "@authwire/test-support/connections/health.js"
import { outcome, pipelineClient, tally } from "@authwire/test-support/connections/pipeline.js"
import type { RawOutcome } from "@authwire/test-support/connections/raw-calls.js"
import { rawPipelineCalls } from "@authwire/test-support/connections/raw-pipeline-calls.js"
import { createDatabase, describeServer, serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { Code, ConnectError } from "@connectrpc/connect"
import { describe, expect, test } from "@jest/globals"
import { startReceiver } from "../webhooks/receiver.js"

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Returns the samples of the text, in which every line is a comment or a sample. */
async function samplesOf(server: ServerProcess): Promise<Sample[]> {
  const response = await fetch(server.metricsUrl)
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8")
  const lines = (await response.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"))
  return lines.map((line) => {
    const [, name = "", labels = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, text]) => [key, text])
    return { name, labels: Object.fromEntries(pairs), value: Number(value) }
  })
}

/** The sum of the samples with this name and these labels. */
function sum(samples: readonly Sample[], name: string, labels: Record<string, string> = {}): number {
  const fitting = samples.filter(
    (sample) => sample.name === name && Object.entries(labels).every(([key, text]) => sample.labels[key] === text),
  )
  return fitting.reduce((total, { value }) => total + value, 0)
}

const getUser = { grpc_type: "unary", grpc_service: "authwire.v1.UserService", grpc_method: "GetUser" }

/** Calls GetUser over separate connections and through a pipeline. Returns the count of each status by listener. */
async function makeCalls(server: ServerProcess) {
  const connections = Array.from({ length: 4 }, () => connection(server.grpcUrl))
  const client = pipelineClient({ url: server.grpcUrl, connections: 2 })
  const { id } = await client.users
    .createUser({ email: `${crypto.randomUUID()}@example.com` })
    .then(({ user }) => user!)
  const ids = Array.from({ length: 20 }, (_, index) => (index % 3 === 0 ? id : "nobody"))
  const inPipeline = await Promise.all(ids.map((one) => outcome(client.users.getUser({ id: one }))))
  const alone = await Promise.all(
    ids.map((one, index) => outcome(connections[index % connections.length]!.users.getUser({ id: one }))),
  )
  client.close()
  for (const { close } of connections) close()
  return { pipeline: tally(inPipeline), grpc: tally(alone) }
}

async function expectCalls(server: ServerProcess): Promise<void> {
  const before = await samplesOf(server)
  const made = await makeCalls(server)
  const after = await samplesOf(server)
  for (const transport of ["pipeline", "grpc"] as const) {
    const more = (name: string, labels = {}) =>
      sum(after, name, { ...getUser, transport, ...labels }) - sum(before, name, { ...getUser, transport, ...labels })
    expect(made[transport]).toEqual({ OK: 7, [transport === "grpc" ? Code.NotFound : "NOT_FOUND"]: 13 })
    expect(more("grpc_server_handled_total", { grpc_code: "OK" })).toBe(7)
    expect(more("grpc_server_handled_total", { grpc_code: "NOT_FOUND" })).toBe(13)
    expect(more("grpc_server_handling_seconds_count")).toBe(20)
    expect(more("grpc_server_handling_seconds_bucket", { le: "+Inf" })).toBe(20)
    const seconds = more("grpc_server_handling_seconds_sum")
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThan(20 * 5)
  }
}

const metrics = "--metrics-addr=127.0.0.1:0"

const target = serviceDatabase()

describe("one process", () => {
  const authwire = useAuthwire(target, { args: [metrics] })

  test("counts and times each call, by method, transport and status", () => expectCalls(authwire.server))

  test("reports that the database answers, and the resources of the process", async () => {
    const samples = await samplesOf(authwire.server)
    expect(sum(samples, "authwire_database_up")).toBe(1)
    expect(sum(samples, "process_resident_memory_bytes")).toBeGreaterThan(10_000_000)
    const startedMs = sum(samples, "process_start_time_seconds") * 1000
    expect(Math.abs(Date.now() - startedMs)).toBeLessThan(600_000)
  })

  test("counts and times deliveries to webhooks by outcome, and says how long the oldest event waits", async () => {
    const { webhooks, users } = authwire.client
    const receiver = await startReceiver()
    authwire.later(async () => receiver.close())
    const { webhook } = await webhooks.createWebhook({ name: "billing", url: receiver.url })
    const id = webhook?.id as string
    const of = (samples: readonly Sample[]) => ({
      ...Object.fromEntries(
        ["accepted", "refused", "failed"].map((outcome) => [
          outcome,
          sum(samples, "authwire_webhook_delivery_seconds_count", { outcome }),
        ]),
      ),
      ...Object.fromEntries(
        ["gone", "failing", "behind"].map((reason) => [
          reason,
          sum(samples, "authwire_webhooks_disabled_total", { reason }),
        ]),
      ),
    })
    const metrics = async () => of(await samplesOf(authwire.server))
    const oldest = async () => sum(await samplesOf(authwire.server), "authwire_webhook_oldest_event_seconds")
    const none = { accepted: 0, refused: 0, failed: 0, gone: 0, failing: 0, behind: 0 }
    expect(await metrics()).toEqual(none)
    const send = () => webhooks.sendTest({ id })
    await send()
    await until(async () => (await metrics()).accepted === 1)
    // It is read every few seconds.
    await until(async () => (await oldest()) === 0)
    receiver.answer = () => ({ status: 500 })
    await users.createUser({})
    await until(async () => (await metrics()).refused === 1)
    await until(async () => (await oldest()) > 0)
    expect(await oldest()).toBeLessThan(60)
    // The receiver is away: there is no answer.
    receiver.close()
    await users.createUser({})
    await until(async () => Number((await metrics()).failed) >= 1)
    const gone = await startReceiver()
    authwire.later(async () => gone.close())
    gone.answer = () => ({ status: 410 })
    await webhooks.updateWebhook({ id, url: gone.url, updateMask: { paths: ["url"] } })
    await users.createUser({})
    await until(async () => (await metrics()).gone === 1)
    // What is disabled does not wait.
    await until(async () => (await oldest()) === 0)
    const samples = await samplesOf(authwire.server)
    expect(of(samples)).toMatchObject({ accepted: 1, gone: 1, failing: 0, behind: 0 })
    const seconds = sum(samples, "authwire_webhook_delivery_seconds_sum", { outcome: "accepted" })
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThan(15)
    await webhooks.deleteWebhook({ id })
  })

  test("serves nothing else", async () => {
    expect((await fetch(new URL("/", authwire.server.metricsUrl))).status).toBe(404)
    const response = await fetch(authwire.server.metricsUrl, { method: "POST" })
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"])
  })
})

describeServer("on a server", (target) => {
  test("calls that are rejected before they begin are counted too", async () => {
    const database = await createDatabase(target)
    const args = [metrics, "--max-active-calls=4"]
    const server = await startServer({ databaseUrl: database.url, args })
    const { users, close } = connection(server.grpcUrl)
    const calls = Array.from({ length: 200 }, () =>
      users.getUser({ id: "nobody" }).catch((error) => ConnectError.from(error).code),
    )
    const codes = tally((await Promise.all(calls)).map(String))
    close()
    const samples = await samplesOf(server)
    const counted = (grpc_code: string) =>
      sum(samples, "grpc_server_handled_total", { ...getUser, transport: "grpc", grpc_code })
    expect(codes[Code.ResourceExhausted]).toBeGreaterThan(0)
    expect(codes).toEqual({
      [Code.NotFound]: counted("NOT_FOUND"),
      [Code.ResourceExhausted]: counted("RESOURCE_EXHAUSTED"),
    })

    // A pipeline rejects calls before they begin.
    const heard: RawOutcome[] = []
    const line = rawPipelineCalls(server.grpcUrl, ["none"], (outcome) => heard.push(outcome))
    const sent = line.send(250)
    await until(() => line.waiting === 0)
    line.close()
    const { SESSION_NOT_FOUND: answered = 0, ...rejected } = tally(heard)
    expect(Object.keys(rejected)).toEqual(["OVERLOADED again"])
    const afterwards = await samplesOf(server)
    const lookUps = {
      grpc_service: "authwire.v1.SessionService",
      grpc_method: "GetSessionAndUser",
      transport: "pipeline",
    }
    const carried = (grpc_code: string) => sum(afterwards, "grpc_server_handled_total", { ...lookUps, grpc_code })
    expect([carried("NOT_FOUND"), carried("RESOURCE_EXHAUSTED")]).toEqual([answered, sent - answered])
    expect(await server.stop()).toBe(0)
    await database.drop()
  })
})
