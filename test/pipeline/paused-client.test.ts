import { once } from "node:events"
import { setTimeout as delay } from "node:timers/promises"
import { Worker } from "node:worker_threads"
import { createAuthwireClient, throwOutages } from "@authwire/client"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { expect, test } from "@jest/globals"

const authwire = useAuthwire("sqlite")
const timeoutMs = 5_000

test("an answer that arrives while the client's process stands still is not too late, however long that lasts", async () => {
  const client = createAuthwireClient({ url: authwire.server.grpcUrl, timeoutMs })
  authwire.later(async () => client.close())
  await client.adapter.getUser("nobody")
  const program = `
    const { parentPort, workerData } = require("node:worker_threads")
    parentPort.once("message", () => process.kill(workerData, "SIGCONT"))`
  const waker = new Worker(program, { eval: true, workerData: authwire.server.pid })
  await once(waker, "online")
  process.kill(authwire.server.pid, "SIGSTOP")
  const { adapter } = throwOutages({ adapter: client.adapter, providers: [] }, { sessionTimeoutMs: timeoutMs })
  const answered = [client.adapter.getUser("nobody"), adapter?.getSessionAndUser?.("none")]
  // The request is on its way. Timers are next, before what has arrived.
  await delay(100)
  await new Promise(setImmediate)
  waker.postMessage("now")
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, timeoutMs + 1_000)
  expect(await Promise.all(answered)).toEqual([null, null])
})
