import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals"
import { logoutEndpoint } from "./logout-endpoint.js"

// The times and limits of one process. test/signals has the whole service.
let held: ServerResponse[] = []
const server = createServer((_request, response) => void held.push(response))
let issuer: string
let now: number
beforeAll(async () => {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
beforeEach(() => {
  held = []
  now = 0
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const open = () => logoutEndpoint({ issuer, timeoutMs: 20_000, clock: () => now })
/** Answers the next request, with an endpoint or else with a failure. */
async function answer(path?: string): Promise<void> {
  await until(() => held.length > 0)
  const response = held.shift()
  if (path === undefined) response?.writeHead(500).end()
  else
    response
      ?.setHeader("content-type", "application/json")
      .end(JSON.stringify({ issuer, end_session_endpoint: `${issuer}${path}` }))
}

test("the endpoint is read again after ten minutes, and the known one is used if that fails", async () => {
  const endpoint = open()
  const [first] = await Promise.all([endpoint(undefined), answer("/one")])
  expect(first).toBe(`${issuer}/one`)
  now += 599_999
  expect(await endpoint(undefined)).toBe(`${issuer}/one`)
  now += 1
  const [afterFailure] = await Promise.all([endpoint(undefined), answer()])
  expect(afterFailure).toBe(`${issuer}/one`)
  now += 4_999
  expect(await endpoint(undefined)).toBe(`${issuer}/one`)
  now += 1
  const [changed] = await Promise.all([endpoint(undefined), answer("/two")])
  expect(changed).toBe(`${issuer}/two`)
  expect(held).toEqual([])
})

test("an issuer that has failed is not asked for five seconds", async () => {
  const endpoint = open()
  const failed = expect(endpoint(undefined)).rejects.toMatchObject({ reason: "PROVIDER_UNAVAILABLE" })
  await Promise.all([failed, answer()])
  now += 4_000
  const paused = { reason: "PROVIDER_UNAVAILABLE", retryAfterMs: 1_000 }
  await expect(endpoint(undefined)).rejects.toMatchObject(paused)
  now += 1_000
  const [found] = await Promise.all([endpoint(undefined), answer("/one")])
  expect(found).toBe(`${issuer}/one`)
})

test("1,000 calls wait for one request, and the next is refused until one has given up", async () => {
  const endpoint = open()
  const leaving = new AbortController()
  const left = expect(endpoint(leaving.signal)).rejects.toThrow("left")
  const waiting = Array.from({ length: 999 }, () => endpoint(undefined))
  await expect(endpoint(undefined)).rejects.toMatchObject({ reason: "OVERLOADED" })
  leaving.abort(new Error("left"))
  await left
  waiting.push(endpoint(undefined))
  await answer("/one")
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([`${issuer}/one`]))
  expect(held).toEqual([])
})
