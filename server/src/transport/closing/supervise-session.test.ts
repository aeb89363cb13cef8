import { EventEmitter } from "node:events"
import type { ServerHttp2Session } from "node:http2"
import type { Socket } from "node:net"
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals"
import type { Identity } from "../../auth/identity.js"
import { sharedLimits } from "../../util/shared-limits.js"
import { Connection, keyBudgets } from "../limits/connection.js"
import { limits } from "../limits/limits.js"
import { superviseSession } from "./supervise-session.js"

const idleMs = 1_000
/** The turn of the event loop in which sockets are read before a time is over, in milliseconds of the fake clock; see peerTimeout. */
const turnMs = 1

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

const identity: Identity = { keyId: "key", tenant: "default", hasScope: () => true }

function connect(closesAfterMs = idleMs) {
  const session = Object.assign(new EventEmitter(), {
    closed: false,
    destroyed: false,
    destroy() {
      session.destroyed = true
    },
    goaway: jest.fn(),
    settings: jest.fn(),
    // The client answers at once.
    ping: (answered: (error: null) => void) => answered(null),
    close: jest.fn(() => {
      session.closed = true
    }),
  })
  const socket = Object.assign(new EventEmitter(), {
    destroyed: false,
    destroy() {
      socket.destroyed = true
      socket.emit("close")
    },
  })
  const known = new Connection(1_000_000, undefined, keyBudgets(1_000_000, 100))
  superviseSession(session as unknown as ServerHttp2Session, socket as unknown as Socket, known, {
    idleMs: closesAfterMs,
  })
  const open = () => {
    const stream = new EventEmitter()
    session.emit("stream", stream)
    return stream
  }
  return { session, socket, open, known }
}

test("an idle connection is closed, and its socket is destroyed if the client does not react", () => {
  const { session, socket, open } = connect()
  jest.advanceTimersByTime(idleMs - 1)
  const stream = open()
  jest.advanceTimersByTime(2 * idleMs)
  expect(session.close).not.toHaveBeenCalled()
  stream.emit("close")
  jest.advanceTimersByTime(idleMs + turnMs)
  expect(session.close).toHaveBeenCalledTimes(1)
  jest.advanceTimersByTime(5_000 + turnMs)
  expect(socket.destroyed).toBe(true)
  expect(jest.getTimerCount()).toBe(0)
})

test("a closed connection leaves no timer, even if its streams end after it", () => {
  const { socket, open } = connect()
  const stream = open()
  socket.destroy()
  stream.emit("close")
  expect(jest.getTimerCount()).toBe(0)
})

test("a client without a valid key is told to reconnect, then closed, then destroyed if it keeps sending", () => {
  const { session, socket, open, known } = connect()
  const calls = () => [session.goaway.mock.calls.length, session.close.mock.calls.length]
  const stream = open()
  for (let call = 1; call < limits.unauthenticatedRequests; call++) known.countUnauthenticated()
  expect(calls()).toEqual([0, 0])
  for (let call = limits.unauthenticatedRequests; call < limits.unauthenticatedRequestsAtMost; call++)
    known.countUnauthenticated()
  expect(calls()).toEqual([1, 0])
  for (let call = 0; call < 3; call++) known.countUnauthenticated()
  expect(calls()).toEqual([1, 1])
  stream.emit("close")
  open().emit("close")
  jest.advanceTimersByTime(5_000 + turnMs)
  expect(socket.destroyed).toBe(true)
  expect(jest.getTimerCount()).toBe(0)
})

test("a client that keeps sending, and to which nothing is left to be answered, is destroyed at once", () => {
  const { session, known } = connect()
  for (let call = 0; call < limits.unauthenticatedRequestsAtMost; call++) known.countUnauthenticated()
  expect(session.destroyed).toBe(true)
  expect(session.close).not.toHaveBeenCalled()
})

test("a call with a valid key that arrives before the client has disconnected is not aborted", () => {
  const { socket, open, known } = connect()
  for (let call = 0; call < limits.unauthenticatedRequests; call++) known.countUnauthenticated()
  const stream = open()
  known.admit(identity, stream)
  jest.advanceTimersByTime(60_000)
  expect(socket.destroyed).toBe(false)
  stream.emit("close")
  jest.advanceTimersByTime(5_000 + turnMs)
  expect(socket.destroyed).toBe(true)
  expect(jest.getTimerCount()).toBe(0)
})

test("an idle connection without a call with a valid key is closed after 30 seconds, and another one later", () => {
  const [stranger, customer] = [connect(900_000), connect(900_000)]
  const stream = customer.open()
  customer.known.admit(identity, stream)
  stream.emit("close")
  jest.advanceTimersByTime(limits.unauthenticatedIdleMs - 1)
  expect(stranger.session.close).not.toHaveBeenCalled()
  jest.advanceTimersByTime(1 + turnMs)
  expect(stranger.session.close).toHaveBeenCalledTimes(1)
  jest.advanceTimersByTime(900_000 - limits.unauthenticatedIdleMs - 1 - turnMs)
  expect(customer.session.close).not.toHaveBeenCalled()
  jest.advanceTimersByTime(1 + turnMs)
  expect(customer.session.close).toHaveBeenCalledTimes(1)
})

test("a client without a valid key that was told to reconnect is disconnected, although it has streams", () => {
  const { socket, open, known } = connect()
  open()
  for (let call = 0; call < limits.unauthenticatedRequests; call++) known.countUnauthenticated()
  jest.advanceTimersByTime(4_999)
  expect(socket.destroyed).toBe(false)
  jest.advanceTimersByTime(1 + turnMs)
  expect(socket.destroyed).toBe(true)
  expect(jest.getTimerCount()).toBe(0)
})

test("the connections of a key usage its budgets, with what they held before; those of another key do not", () => {
  const budgets = keyBudgets(1_000_000, 100)
  const admitted = (keyId: string, requestBytes: number, answerBytes: number) => {
    const one = new Connection(1_000_000, undefined, budgets)
    expect([one.requests.take(requestBytes), one.answers.take(answerBytes)]).toEqual([true, true])
    one.admit({ ...identity, keyId }, new EventEmitter())
    return one
  }
  const { requestBytes, answerBytes } = limits
  const [keyRequestBytes, keyAnswerBytes] = [sharedLimits.requestBytes.key, sharedLimits.answerBytes.key]
  const first = admitted("key", requestBytes, answerBytes)
  const others = [1, 2].map(() => admitted("key", 0, answerBytes))
  const last = admitted("key", 0, 0)
  const left = { requests: keyRequestBytes - requestBytes, answers: keyAnswerBytes - 3 * answerBytes - 1 }
  others.push(admitted("key", 0, left.answers))
  expect([last.requests.take(left.requests + 1), last.answers.take(2)]).toEqual([false, false])
  expect([last.requests.take(left.requests), last.answers.take(1)]).toEqual([true, true])
  for (const one of [first, last, ...others]) expect([one.requests.isTight, one.answers.isTight]).toEqual([true, true])
  const foreign = admitted("another", 0, 0)
  expect([foreign.requests.isTight, foreign.answers.isTight]).toEqual([false, false])
  first.requests.give(requestBytes)
  first.answers.give(answerBytes)
  expect([last.requests.take(1), last.answers.take(2)]).toEqual([true, true])
})

test("a tenant may have three quarters of the connections, and those beyond them stay connections without a key", () => {
  const budgets = keyBudgets(1_000_000, 4)
  const connect = (tenant: string, keyId: string) => {
    const one = new Connection(1_000_000, undefined, budgets)
    return { one, admit: () => one.admit({ ...identity, tenant, keyId }, new EventEmitter()) }
  }
  const first = connect("one", "a")
  for (const { admit } of [first, connect("one", "b"), connect("one", "c")]) admit()
  const last = connect("one", "d")
  for (let n = 0; n < limits.unauthenticatedRequests; n++)
    expect(() => last.admit()).toThrow("the tenant has reached the limit of connections")
  expect([last.one.isKnown, last.one.shouldReconnect]).toEqual([false, true])
  connect("two", "e").admit()
  expect(() => connect("two", "e").admit()).toThrow("the service has reached the limit of connections")
  for (let times = 0; times < 2; times++) first.one.closed()
  last.admit()
  expect(last.one.isKnown).toBe(true)
  // A connection that closes before its first call counts nothing.
  const gone = connect("three", "f")
  gone.one.closed()
  gone.admit()
})
