import { once } from "node:events"
import http2 from "node:http2"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import { limits } from "./limits.js"
import { narrow, noteLasting } from "./narrow.js"

const server = http2.createServer({ settings: { maxConcurrentStreams: limits.maxConcurrentStreams } })
beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening")
})
afterAll(() => {
  server.close()
})

/** Both ends of a connection, whose settings are agreed on. */
async function connection() {
  const accepted = once(server, "session")
  const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const [session] = (await accepted) as [http2.ServerHttp2Session]
  await once(session, "localSettings")
  const streams = async () => {
    await new Promise((resolve) => client.ping(resolve))
    return client.remoteSettings.maxConcurrentStreams
  }
  return { session, client, streams }
}

test("a connection may open eight streams, until a second has passed", async () => {
  const { session, client, streams } = await connection()
  expect(await streams()).toBe(limits.maxConcurrentStreams)
  const told: (number | undefined)[] = []
  client.on("remoteSettings", ({ maxConcurrentStreams }) => told.push(maxConcurrentStreams))
  const begun = performance.now()
  narrow({ session })
  narrow({ session })
  await once(client, "remoteSettings")
  await new Promise((resolve) => setTimeout(resolve, 500))
  // The second begins anew.
  narrow({ session })
  await once(client, "remoteSettings")
  expect(performance.now() - begun).toBeGreaterThan(1_490)
  expect(told).toEqual([8, limits.maxConcurrentStreams])
  expect(await streams()).toBe(limits.maxConcurrentStreams)
  client.destroy()
})

test("streams that last leave the others their room", async () => {
  const { session, client, streams } = await connection()
  const opened = once(session, "stream")
  const pipeline = client.request()
  const [stream] = (await opened) as [http2.ServerHttp2Stream]
  noteLasting(stream)
  narrow({ session })
  expect(await streams()).toBe(9)
  pipeline.close()
  stream.close()
  await once(client, "remoteSettings")
  expect(await streams()).toBe(limits.maxConcurrentStreams)
  narrow({ session })
  expect(await streams()).toBe(8)
  client.destroy()
})

test("a connection that has not acknowledged the last settings is left alone", async () => {
  const { session, client, streams } = await connection()
  session.settings({ initialWindowSize: 70_000 })
  expect(session.pendingSettingsAck).toBe(true)
  for (let call = 0; call < 100; call++) narrow({ session })
  await once(session, "localSettings")
  expect(await streams()).toBe(limits.maxConcurrentStreams)
  narrow({ session })
  expect(await streams()).toBe(8)
  client.destroy()
})

test("a connection that is gone is left alone", async () => {
  const { session, client } = await connection()
  narrow({ session })
  client.destroy()
  await once(session, "close")
  narrow({ session })
})
