import { Health } from "@authwire/proto/health"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { openService } from "@authwire/test-support/processes/service.js"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { Server } from "@grpc/grpc-js"
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals"
import { pino } from "pino"
import { openGrpcListener } from "../../server/src/transport/grpc/grpc.js"
import { formatAddress } from "../../server/src/util/address.js"

const target = serviceDatabase()
let database: Awaited<ReturnType<typeof createStoreDatabase>>
beforeAll(async () => {
  if (target !== undefined) database = await createStoreDatabase(target)
})
afterAll(() => database.drop())

test("gRPC is served even if grpc-js stores its HTTP/2 server under another property", async () => {
  const original = Server.prototype.createConnectionInjector
  const spy = jest.spyOn(Server.prototype, "createConnectionInjector").mockImplementation(function (this: Server, by) {
    const injector = original.call(this, by)
    Reflect.deleteProperty(this, "http2Servers")
    return injector
  })
  const lines: string[] = []
  const log = pino({ base: null }, { write: (line: string) => lines.push(line) })
  const { router, transport } = openService(await database.openStore(), { log })
  const listener = await openGrpcListener(transport).finally(() => spy.mockRestore())
  expect(lines.filter((line) => line.includes("@grpc/grpc-js is not supported"))).toHaveLength(1)
  const client = createClient(Health, createGrpcTransport({ baseUrl: `http://${formatAddress(listener.address)}` }))
  await expect(client.check({})).resolves.toMatchObject({ status: 1 })
  listener.stopAccepting()
  await router.drain(1_000)
  await listener.closed(0)
})
