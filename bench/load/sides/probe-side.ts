// The observing process of bench/flood.ts. It makes 100 calls per second, as an application would during a flood, and
// checks the health over a new connection each time. It does not retry rejected calls.
//
//   startChild("probe-side.ts", [url of the gRPC listener, url of the HTTP listener, users])

import http from "node:http"
import { SessionService } from "@authwire/proto"
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-node"
import { pipelineTransport } from "../../../client/dist/pipeline/transport.js"
import { grpcTransport } from "../../../client/dist/transport/grpc.js"
import { sessionsPerUser, sessionToken } from "../../data/keys.ts"
import { apiKey } from "../../servers/key.ts"
import { answerParent } from "../child.ts"
import { healthQuestions } from "../health.ts"
import { type Probe, ways } from "../probes.ts"
import { randomNumbers } from "../statistics.ts"

const [grpcUrl = "", httpUrl = "", users = "0"] = process.argv.slice(2)
const random = randomNumbers(5)
let probes: Probe[] = []
const health = healthQuestions(grpcUrl, httpUrl, 5_000)

const header = new Headers({ authorization: `Bearer ${apiKey}` })
// With its default scheduling, Node's agent reuses the most recent connection even if it has just closed it itself.
const agent = new http.Agent({ keepAlive: true, timeout: 5_000, scheduling: "fifo" })
const transports: Record<string, Transport> = {
  pipeline: pipelineTransport({ url: grpcUrl, header }),
  unary: grpcTransport({ url: grpcUrl }),
  connect: createConnectTransport({ baseUrl: httpUrl, httpVersion: "1.1", nodeOptions: { agent } }),
}

async function probe(what: Probe[0], question: () => Promise<unknown>): Promise<void> {
  const start = performance.now()
  let end: Probe[3] = "ok"
  try {
    await question()
  } catch (error) {
    end = error instanceof ConnectError && error.code === Code.ResourceExhausted ? "rejected" : "failed"
  }
  probes.push([what, performance.timeOrigin + start, performance.now() - start, end])
}

/** For each way. */
const callsPerSecond = 100 / ways.length
for (const way of ways) {
  const sessions = createClient(SessionService, transports[way] as Transport)
  const lookUp = () =>
    sessions.getSessionAndUser(
      { sessionToken: sessionToken(Math.floor(random() * Number(users) * sessionsPerUser)) },
      { timeoutMs: 5_000, headers: header },
    )
  setInterval(() => probe(way, lookUp), 1_000 / callsPerSecond)
}
setInterval(() => {
  probe("gRPC health", () => well(health.grpc()))
  probe("/healthz", () => well(health.http("/healthz")))
}, 200)

async function well(answer: Promise<boolean>): Promise<void> {
  if (!(await answer)) throw new Error("no good answer")
}

answerParent(() => {
  const sight = probes
  probes = []
  return sight
})
