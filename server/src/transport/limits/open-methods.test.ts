import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Health } from "@authwire/proto/health"
import { ServerReflection } from "@authwire/proto/reflection/v1"
import { afterEach, expect, jest, test } from "@jest/globals"
import { Connection } from "./connection.js"
import { limits } from "./limits.js"
import { openMethods } from "./open-methods.js"

const { watch } = Health.method
const { serverReflectionInfo } = ServerReflection.method
const connection = () => new Connection(4 * 1024 * 1024, undefined)
const stream = () => ({ cut: jest.fn() })

afterEach(() => void jest.useRealTimers())

test("each connection has its own small number of streams that need no key", () => {
  const open = openMethods()
  const one = connection()
  const streams = Array.from({ length: limits.openStreams }, stream)
  for (const each of streams) expect(open.enter(watch, one, each)).toBeUndefined()
  const tooMany = stream()
  expect(open.enter(watch, one, tooMany)?.reason).toBe("RATE_LIMITED")
  // The rejected stream has no slot, so it releases none.
  open.leave(watch, one, tooMany)
  expect(open.enter(watch, one, stream())?.reason).toBe("RATE_LIMITED")
  expect(open.enter(watch, connection(), stream())).toBeUndefined()
  for (let count = 0; count < limits.reflectionStreams; count++)
    expect(open.enter(serverReflectionInfo, one, stream())).toBeUndefined()
  expect(open.enter(serverReflectionInfo, one, stream())?.reason).toBe("RATE_LIMITED")
  open.leave(watch, one, streams[3] as (typeof streams)[0])
  expect(open.enter(watch, one, stream())).toBeUndefined()
})

test("S-44: above the total limit, a new stream replaces the oldest stream of the connection with the most streams", () => {
  const open = openMethods()
  const small = { connection: connection(), stream: stream() }
  open.enter(watch, small.connection, small.stream)
  const attackers = Array.from({ length: limits.openStreamsInAll / limits.openStreams }, () => ({
    connection: connection(),
    streams: Array.from({ length: limits.openStreams }, stream),
  }))
  for (const attacker of attackers) for (const one of attacker.streams) open.enter(watch, attacker.connection, one)
  const cut = attackers.flatMap(({ streams }) => streams).filter((one) => one.cut.mock.calls.length > 0)
  expect(cut).toEqual([attackers[0]?.streams[0]])
  for (let others = 0; others < 100; others++) expect(open.enter(watch, connection(), stream())).toBeUndefined()
  expect(small.stream.cut).not.toHaveBeenCalled()
})

test("requests that need no key are limited per second and connection; a client that exceeds the limit becomes unwelcome", () => {
  // Otherwise the bucket fills again during the test on a busy machine.
  jest.useFakeTimers()
  const { request } = openMethods()
  const one = connection()
  const most = limits.unauthenticatedHealthBurst
  const outcomes = Array.from({ length: most * 2 + limits.unauthenticatedRequests }, () => request(watch, one))
  expect(outcomes.slice(0, most)).toEqual(Array(most).fill(undefined))
  expect(one.shouldReconnect).toBe(true)
  expect(outcomes.at(-1)).toMatchObject({ reason: "RATE_LIMITED", retryAfterMs: expect.any(Number) })
  expect(request(watch, connection())).toBeUndefined()
  const asked = Array.from({ length: limits.reflectionPerSecondInAll }, () =>
    request(serverReflectionInfo, connection()),
  )
  expect(asked.filter((failure) => failure !== undefined)).toEqual([])
  expect(request(serverReflectionInfo, connection())?.reason).toBe("RATE_LIMITED")
})

test("a stream that was aborted for another one frees its slot once, although it also closes", () => {
  const open = openMethods()
  const entered: { at: Connection; stream: ReturnType<typeof stream> }[] = []
  const enter = () => {
    const one = { at: connection(), stream: stream() }
    one.stream.cut.mockImplementation(() => open.leave(serverReflectionInfo, one.at, one.stream))
    entered.push(one)
    expect(open.enter(serverReflectionInfo, one.at, one.stream)).toBeUndefined()
  }
  for (let n = 0; n < limits.reflectionStreamsInAll + 10; n++) enter()
  expect(entered.filter((one) => one.stream.cut.mock.calls.length > 0)).toHaveLength(10)
})

test("a connection is not kept when its streams have ended", async () => {
  setFlagsFromString("--expose-gc")
  const gc: () => void = runInNewContext("gc")
  const open = openMethods()
  const used = () => {
    const one = connection()
    const its = stream()
    open.enter(watch, one, its)
    open.leave(watch, one, its)
    return new WeakRef(one)
  }
  const ref = used()
  // A WeakRef keeps its target until the end of the turn in which it was created.
  await new Promise(setImmediate)
  gc()
  expect(ref.deref()).toBeUndefined()
})
