import { EventEmitter } from "node:events"
import type { ServerHttp2Session } from "node:http2"
import type { Socket } from "node:net"
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals"
import { Connection, closeWhenIdle, keyBudgets } from "./connection.js"

const idleMs = 1_000

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

function connect() {
  const session = Object.assign(new EventEmitter(), { close: jest.fn() })
  const socket = Object.assign(new EventEmitter(), {
    destroyed: false,
    destroy() {
      socket.destroyed = true
      socket.emit("close")
    },
  })
  const known = new Connection(1_000_000, undefined, keyBudgets(1_000_000))
  closeWhenIdle(session as unknown as ServerHttp2Session, socket as unknown as Socket, known, idleMs)
  const open = () => {
    const stream = new EventEmitter()
    session.emit("stream", stream)
    return stream
  }
  return { session, socket, open }
}

test("a connection is closed when it has had no stream for a while, and cut if its client does not read that", () => {
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

test("of a connection that is gone no timer is left, though its streams end after it", () => {
  const { socket, open } = connect()
  const stream = open()
  socket.destroy()
  stream.emit("close")
  expect(jest.getTimerCount()).toBe(0)
})
