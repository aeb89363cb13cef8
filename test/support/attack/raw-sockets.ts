import { readFileSync } from "node:fs"
import net from "node:net"
import { headerBlock, http2Frame, preface } from "../../../fuzz/generate/http2-frames.ts"
import { header } from "./requests.ts"

/** A TCP connection whose client writes raw bytes and reads nothing. */
export interface RawSocket {
  readonly socket: net.Socket
  /** Whether the service still has its end of the connection open, even if that end was never read. */
  readonly isHeld: boolean
  close(): void
}

/** Opens a connection and writes `bytes` to it `times` times, as far as the service reads. */
export function unreadSocket(url: string, bytes: Buffer, times = 1): RawSocket {
  const port = Number(new URL(url).port)
  const socket = net.connect({ port, host: "127.0.0.1" })
  // Paused before it is connected, because otherwise Node would start to read from the socket.
  socket.pause()
  socket.on("error", () => {})
  let left = times
  const write = () => {
    while (left > 0 && !socket.destroyed) {
      left--
      if (!socket.write(bytes)) return
    }
  }
  socket.on("drain", write)
  write()
  // The local port is stored because a closed socket no longer has it.
  let from: number | undefined
  socket.once("connect", () => {
    from = socket.localPort
  })
  return {
    socket,
    get isHeld() {
      return from !== undefined && heldPorts(port).has(from)
    },
    close: () => socket.destroy(),
  }
}

let tcpLines: string[] | undefined

/** Returns the lines of /proc/net/tcp, which it reads once for all sockets that a test asks for at the same time. */
function tcpTable(): string[] {
  if (tcpLines === undefined) {
    tcpLines = readFileSync("/proc/net/tcp", "latin1").trim().split("\n").slice(1)
    setImmediate(() => {
      tcpLines = undefined
    })
  }
  return tcpLines
}

/** Returns the client ports of the connections to a local port that the process listening there has not closed. */
function heldPorts(port: number): Set<number> {
  const portOf = (address = "") => Number.parseInt(address.split(":")[1] ?? "", 16)
  const held = tcpTable()
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , , , , , , , inode]) => {
      // A connection that a process has closed, but whose data the kernel still sends, has inode 0.
      return portOf(local) === port && inode !== "0"
    })
  return new Set(held.map(([, , remote]) => portOf(remote)))
}

const frames = { data: 0, headers: 1, reset: 3, settings: 4, windowUpdate: 8 }
const [endStream, endHeaders] = [1, 4]

function fields(path: string, key: string | undefined): [string, string][] {
  const { ":method": method, ":path": _, ...others } = header(path, { key })
  const pseudo = { ":method": method, ":path": path, ":scheme": "http", ":authority": "localhost" }
  return Object.entries({ ...pseudo, ...others })
}

/**
 * Requests over HTTP/2 for one connection. Their windows have the maximum size, so that only TCP limits the responses.
 */
export function http2Requests(path: string, message: Buffer, count: number, key?: string): Buffer {
  const block = headerBlock(fields(path, key))
  const requests = Array.from({ length: count }, (_, index) => {
    const stream = 2 * index + 1
    return [http2Frame(frames.headers, endHeaders, stream, block), http2Frame(frames.data, endStream, stream, message)]
  })
  const window = Buffer.from("00047fffffff", "hex")
  const increment = Buffer.from("7fff0000", "hex")
  return Buffer.concat([
    preface,
    http2Frame(frames.settings, 0, 0, window),
    http2Frame(frames.windowUpdate, 0, 0, increment),
    ...requests.flat(),
  ])
}

/** Requests over HTTP/2 for one connection, each of which its client resets at once. */
export function resetRequests(path: string, count: number): Buffer {
  const block = headerBlock(fields(path, undefined))
  const cancel = Buffer.from("00000008", "hex")
  const requests = Array.from({ length: count }, (_, index) => {
    const stream = 2 * index + 1
    return [http2Frame(frames.headers, endHeaders, stream, block), http2Frame(frames.reset, 0, stream, cancel)]
  })
  return Buffer.concat([idleConnection, ...requests.flat()])
}

/** The beginning of an HTTP/2 connection whose header block has no end. */
export function endlessHeader(path: string): Buffer {
  return Buffer.concat([idleConnection, http2Frame(frames.headers, 0, 1, headerBlock(fields(path, undefined)))])
}

/** An HTTP/2 connection without requests. */
export const idleConnection = Buffer.concat([preface, http2Frame(frames.settings, 0, 0, Buffer.alloc(0))])

/** A request over HTTP/1.1. */
export function http1Request(
  path: string,
  options: { key?: string; method?: string; type?: string; body?: Buffer } = {},
) {
  const { key, method = "GET", type = "application/proto", body = Buffer.alloc(0) } = options
  const lines = [
    `${method} ${path} HTTP/1.1`,
    "host: localhost",
    ...(method === "POST" ? [`content-type: ${type}`, `content-length: ${body.length}`] : []),
    ...(key === undefined ? [] : [`authorization: Bearer ${key}`]),
  ]
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), body])
}
