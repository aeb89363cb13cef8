import { EventEmitter } from "node:events"
import type { ServerHttp2Session } from "node:http2"
import type { Socket } from "node:net"
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals"
import type { Identity } from "../rpc/identity.js"
import { Connection, closeUnneeded, keyBudgets } from "./connection.js"
import { limits } from "./limits.js"

const idleMs = 1_000

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

const identity: Identity = { keyId: "key", tenant: "default", hasScope: () => true }

function connect() {
  const session = Object.assign(new EventEmitter(), {
    closed: false,
    goaway: jest.fn(),
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
  const known = new Connection(1_000_000, undefined, keyBudgets(1_000_000))
  closeUnneeded(session as unknown as ServerHttp2Session, socket as unknown as Socket, known, idleMs)
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
  jest.advanceTimersByTime(idleMs)
  expect(session.close).toHaveBeenCalledTimes(1)
  jest.advanceTimersByTime(5_000)
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
  jest.advanceTimersByTime(5_000)
  expect(socket.destroyed).toBe(true)
  expect(jest.getTimerCount()).toBe(0)
})

test("a connection that has made a call with a valid key stays open, whatever follows", () => {
  const { session, known } = connect()
  for (let call = 1; call < limits.unauthenticatedRequests; call++) known.countUnauthenticated()
  known.admit(identity, new EventEmitter())
  for (let call = 0; call < 1_000; call++) known.countUnauthenticated()
  expect(session.goaway).not.toHaveBeenCalled()
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
  jest.advanceTimersByTime(5_000)
  expect(socket.destroyed).toBe(true)
  expect(jest.getTimerCount()).toBe(0)
})
