import http from "node:http"
import { HealthCheckRequestSchema } from "@authwire/proto/health"
import { tally } from "@authwire/test-support/connections/pipeline.js"
import {
  type Heard,
  type RawCalls,
  type RawOutcome,
  rawConnectCalls,
  rawUnaryCalls,
} from "@authwire/test-support/connections/raw-calls.js"
import { rawPipelineCalls } from "@authwire/test-support/connections/raw-pipeline-calls.js"
import type { Authwire } from "@authwire/test-support/processes/authwire.js"
import { until } from "@authwire/test-support/until.js"
import { create, toBinary } from "@bufbuild/protobuf"
import { Client, credentials } from "@grpc/grpc-js"
import { expect } from "@jest/globals"
import { residentBytes } from "../../bench/load/cpu.js"

const floodMs = 5_000
const nothing = Buffer.from(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema)))
const asIs = (bytes: Buffer) => bytes

/** Makes a health check over a new connection. */
async function grpcHealth(url: string): Promise<string> {
  const client = new Client(new URL(url).host, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 })
  const answer = await new Promise<string>((resolve) => {
    const options = { deadline: Date.now() + 10_000 }
    client.makeUnaryRequest("/grpc.health.v1.Health/Check", asIs, asIs, nothing, options, (error, bytes) =>
      resolve(error ? String(error) : `answered ${bytes?.toString("hex")}`),
    )
  })
  client.close()
  return answer
}

/** Makes an HTTP health check. A kept-alive connection could be closed just when it is used again. */
function httpHealth(url: string): Promise<string> {
  return new Promise((resolve) => {
    http
      .get(`${url}/healthz`, { agent: false, signal: AbortSignal.timeout(10_000) }, (response) => {
        response.resume().on("end", () => resolve(`answered ${response.statusCode}`))
      })
      .on("error", (error) => resolve(String(error)))
  })
}

/**
 * Floods every transport of the service for five seconds with more calls than it can answer. Meanwhile health is
 * answered, every call ends with an outcome that clients understand, and the memory of the service is bounded.
 */
export async function flood(authwire: Authwire): Promise<{ answered: number; rejected: number }> {
  const { server } = authwire
  const memory = () => residentBytes(server.pid) as number
  const before = memory()
  const heard: RawOutcome[] = []
  const hear: Heard = (outcome) => heard.push(outcome)
  const tokens = ["none"]
  const lines: RawCalls[] = [
    ...Array.from({ length: 4 }, () => rawPipelineCalls(server.grpcUrl, tokens, hear)),
    rawPipelineCalls(server.httpUrl, tokens, hear),
    rawUnaryCalls(server.grpcUrl, tokens, hear),
    rawConnectCalls(server.httpUrl, tokens, hear),
  ]
  const health: Promise<string>[] = []
  let most = 0
  let sent = 0
  const begun = performance.now()
  while (performance.now() - begun < floodMs) {
    for (const line of lines) sent += line.send(250)
    if (performance.now() - begun > 250 * (health.length / 2)) {
      health.push(grpcHealth(server.grpcUrl), httpHealth(server.httpUrl))
      most = Math.max(most, memory())
    }
    // Lets this process read responses.
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  expect(tally(await Promise.all(health))).toEqual({
    "answered 0801": health.length / 2,
    "answered 200": health.length / 2,
  })
  // Every call must end.
  await until(() => lines.every(({ waiting }) => waiting === 0))
  expect(heard).toHaveLength(sent)
  const outcomes = tally(heard)
  // A client with 1,024 active calls in a pipeline exceeds its limit. Before a client learns of a lower limit of
  // streams, it may also have opened more streams than allowed.
  const { TOO_MANY_CALLS: _, REFUSED_STREAM: streams = 0, ...told } = outcomes
  const { SESSION_NOT_FOUND: answered = 0, "OVERLOADED again": rejected = 0, ...others } = told
  expect(streams).toBeLessThan(1_000)
  expect(others).toEqual({})
  expect(most - before).toBeLessThan(512 * 1024 * 1024)
  for (const line of lines) line.close()
  return { answered, rejected }
}

/** Waits until so many calls at the same time succeed again. */
export function allIsWell({ adapter }: Authwire, length: number, timeoutMs?: number): Promise<void> {
  return until(async () => {
    const calls = await Promise.allSettled(Array.from({ length }, () => adapter.getSessionAndUser("none")))
    return calls.every((call) => call.status === "fulfilled" && call.value === null)
  }, timeoutMs)
}
