import { PipelineRequestSchema } from "@authwire/proto"
import { enveloped, getUserRequest, header, paths } from "@authwire/test-support/attack/requests.js"
import { attackConnection, takesNothing } from "@authwire/test-support/attack/streams.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { openService } from "@authwire/test-support/processes/service.js"
import { until } from "@authwire/test-support/until.js"
import { create, toBinary } from "@bufbuild/protobuf"
import { describe, expect, test } from "@jest/globals"
import { openHttpListener } from "../../server/src/transport/connect/http.js"
import { openGrpcListener } from "../../server/src/transport/grpc/grpc.js"
import { formatAddress } from "../../server/src/util/address.js"
import { Budget } from "../../server/src/util/budget.js"

// The timeout of a message that the client does not read is 20 s.
const soonMs = 5_000

const later = endsAfterEach()
const message = getUserRequest("nobody").subarray(5)
const asked = { calls: [{ id: 1, method: paths.getUser.slice(1), message }] }
const request = enveloped(toBinary(PipelineRequestSchema, create(PipelineRequestSchema, asked)))

/** Opens a listener on which the only key may have one stream. */
async function start(open: typeof openGrpcListener | typeof openHttpListener) {
  const streams = new Budget(1)
  const database = await createStoreDatabase("sqlite")
  const { router, transport } = openService(await database.openStore(), {
    access: {
      admit: () => (call) => {
        call.identity = { keyId: "key", tenant: "default", hasScope: () => true }
        return undefined
      },
    },
  })
  const bytes = { requests: new Budget(1e6), answers: new Budget(1e6) }
  const budgets = { ...bytes, connections: new Budget(1), streams, pipelines: new Budget(1) }
  const listener = await open({ ...transport, keyBudgets: { of: () => budgets } })
  later(async () => {
    listener.stopAccepting()
    await router.drain(1_000)
    await listener.closed(1_000)
    await database.drop()
  })
  const connection = attackConnection(`http://${formatAddress(listener.address)}`, takesNothing)
  later(async () => connection.close())
  await connection.seen()
  return { connection, isFree: () => streams.take(1) }
}

describe.each([
  ["the gRPC listener", openGrpcListener],
  ["the HTTP listener", openHttpListener],
] as const)("a pipeline at %s whose answers wait ends at once when its client resets it", (_, open) => {
  test.each([
    ["before the end of its request", false],
    ["after the end of its request", true],
  ])("%s", async (_, isHalfClosed) => {
    const { connection, isFree } = await start(open)
    const pipeline = connection.open(header(paths.pipeline, { key: "any" }))
    const { stream } = pipeline
    if (isHalfClosed) stream.end(request)
    else stream.write(request)
    await until(() => pipeline.status === "200")
    expect(isFree()).toBe(false)
    // Node sends a reset with NO_ERROR. With `close` it would send the end of the request before.
    stream.destroy()
    await until(isFree, soonMs)
  })
})
