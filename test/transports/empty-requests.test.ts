import { once } from "node:events"
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from "node:http2"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { openService } from "@authwire/test-support/processes/service.js"
import { describe, expect, test } from "@jest/globals"
import { openHttpListener } from "../../server/src/transport/connect/http.js"
import { openGrpcListener } from "../../server/src/transport/grpc/grpc.js"
import { formatAddress } from "../../server/src/util/address.js"

// A request without a message that ends while the call waits for its authentication, as during the lookup of its key.

const later = endsAfterEach()

/** Opens a service that admits no call before `letIn()` is called. */
async function openGated(open: typeof openGrpcListener | typeof openHttpListener) {
  const { promise: gate, resolve: letIn } = Promise.withResolvers<void>()
  const database = await createStoreDatabase("sqlite")
  const store = await database.openStore()
  const { router, transport } = openService(store, {
    access: {
      admit: () => (call) => {
        call.identity = { keyId: "key", tenant: "default", hasScope: () => true }
        return gate
      },
    },
  })
  const listener = await open(transport)
  later(async () => {
    listener.stopAccepting()
    await router.drain(1_000)
    await listener.closed(1_000)
    await database.drop()
  })
  const session = connect(`http://${formatAddress(listener.address)}`)
  later(async () => session.destroy())
  await once(session, "connect")
  return { session, letIn }
}

/** Resolves when the service has read all data that was sent. */
function arrived(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => session.ping((error) => (error === null ? resolve() : reject(error))))
}

describe.each([
  ["the gRPC listener", openGrpcListener],
  ["the HTTP listener", openHttpListener],
] as const)("at %s", (_, open) => {
  test.each([
    ["PipelineService/Pipeline", "0", ""],
    ["EventService/Watch", "12", "request"],
    ["UserService/GetUser", "12", "request"],
  ])("%s ends with %s", async (path, code, message) => {
    const { session, letIn } = await openGated(open)
    const header = { "content-type": "application/grpc+proto", te: "trailers" }
    const stream = session.request({ ":method": "POST", ":path": `/authwire.v1.${path}`, ...header })
    await arrived(session)
    const statuses: unknown[] = []
    const hear = ({ "grpc-status": status, "grpc-message": told = "" }: IncomingHttpHeaders) => {
      if (status !== undefined) statuses.push([status, decodeURIComponent(String(told))])
    }
    stream.on("response", hear).on("trailers", hear).resume().end()
    await arrived(session)
    letIn()
    await once(stream, "close")
    expect(statuses).toEqual([[code, expect.stringContaining(message)]])
  })
})
