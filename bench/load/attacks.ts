import http from "node:http"
import { PipelineRequestSchema } from "@authwire/proto"
import { sendAllButTheLastByte } from "@authwire/test-support/attack/partial-message.js"
import {
  endlessHeader,
  http1Request,
  http2Requests,
  idleConnection,
  type RawSocket,
  unreadSocket,
} from "@authwire/test-support/attack/raw-sockets.js"
import {
  enveloped,
  getUserRequest,
  header,
  paths,
  prefix,
  reflectionRequest,
} from "@authwire/test-support/attack/requests.js"
import {
  type AttackConnection,
  type AttackStream,
  attackConnection,
  takesNothing,
} from "@authwire/test-support/attack/streams.js"
import { create, toBinary } from "@bufbuild/protobuf"

/** The target of an attack. */
export interface AttackTarget {
  grpcUrl: string
  httpUrl: string
  /** An API key with the single scope `users:read`. */
  key: string
  /** The id of a user with a large image. */
  largeUser: string
}

/** One connection of an attack. It is opened again when it is closed, and always carries as much as it can. */
export interface Attacker {
  /** The number of streams or sockets that were opened. */
  readonly begun: number
  /** The number of those that the service has not closed. */
  readonly left: number
  /** Stops opening and sending. Streams or sockets that are open stay open. */
  stop(): void
}

/** An attack. Connections with an even number go to the gRPC listener, the others to the HTTP listener. */
export type Attack = (target: AttackTarget, connection: number) => Attacker

const empty = Buffer.alloc(5)
/**
 * The number of new streams per second of each connection. It fills the connection within seconds, but leaves CPU time
 * for other processes.
 */
const perSecond = 100
const tickMs = 100
const mostStreams = 500

const listenerOf = ({ grpcUrl, httpUrl }: AttackTarget, connection: number) => (connection % 2 ? httpUrl : grpcUrl)

/** Keeps streams open. The function that `open` returns is called when the attack stops. */
function streams(
  open: (connection: AttackConnection, target: AttackTarget, index: number) => (() => void) | undefined,
) {
  return (settings: Parameters<typeof attackConnection>[1]): Attack =>
    (target, index) => {
      const url = listenerOf(target, index)
      let connection = attackConnection(url, settings)
      let begun = 0
      const stops = new Set<() => void>()
      const timer = setInterval(() => {
        const { session } = connection
        if (session.destroyed || session.closed) {
          session.destroy()
          stops.clear()
          connection = attackConnection(url, settings)
          return
        }
        // Further streams would only wait on the client's side.
        const most = Math.min(connection.maxStreams, mostStreams)
        for (let left = (perSecond * tickMs) / 1_000; left > 0 && connection.openStreams < most; left--) {
          const stop = open(connection, target, begun++)
          if (stop !== undefined) stops.add(stop)
        }
      }, tickMs)
      return {
        get begun() {
          return begun
        },
        get left() {
          return connection.openStreams
        },
        stop() {
          clearInterval(timer)
          for (const stop of stops) stop()
        },
      }
    }
}

/** Sends complete requests and reads nothing of the answers. */
const notTaken = (path: string, bodyOf: (target: AttackTarget) => Buffer, hasKey = false) =>
  streams((connection, target) => {
    connection.open(header(path, { key: hasKey ? target.key : undefined }), bodyOf(target))
    return undefined
  })(takesNothing)

/** Opens a pipeline that takes the first message, with the settings, and then nothing that its connection does not buffer. */
function openPipeline(connection: AttackConnection, key: string): AttackStream {
  const opened = connection.open(header(paths.pipeline, { key }))
  opened.stream.once("data", () => opened.stream.pause())
  return opened
}
const takesSettings = { initialWindowSize: 100 }

/** Sends a message in each pipeline, and reads nothing of the answers. */
const notTakenInPipelines = (messageOf: (target: AttackTarget) => Buffer) =>
  streams((connection, target) => {
    openPipeline(connection, target.key).stream.end(messageOf(target))
    return undefined
  })(takesSettings)

/** Sends calls of no method in pipelines, one message after the other, and reads nothing of the answers. */
const rejectedCalls = streams((connection, { key }) => {
  const { stream, closed } = openPipeline(connection, key)
  let id = 0
  const send = () => {
    if (stream.writableLength > 0) return
    const calls = Array.from({ length: 200 }, () => ({ id: id++, method: "none" }))
    stream.write(enveloped(toBinary(PipelineRequestSchema, create(PipelineRequestSchema, { calls }))))
  }
  send()
  const timer = setInterval(send, 500)
  const stop = () => {
    clearInterval(timer)
    stream.end()
  }
  closed.then(stop)
  return stop
})(takesSettings)

/** Sends messages without their last byte. */
const endless = (path: string, hasKey = false) =>
  streams((connection, { key }) => {
    const { stream, closed } = connection.open(header(path, { key: hasKey ? key : undefined }))
    const message = sendAllButTheLastByte(stream)
    closed.then(message.stop)
    return message.stop
  })({})

/** Opens pipelines with an incomplete message. Every second one is half-closed. */
const halfPipelines = (hasKey: boolean) =>
  streams((connection, { key }, index) => {
    const { stream } = connection.open(header(paths.pipeline, { key: hasKey ? key : undefined }))
    stream.write(Buffer.concat([prefix(1_000), Buffer.alloc(10)]))
    if (index % 2) stream.end()
    return undefined
  })({})

/** Keeps a socket open. Opens another one when it is closed. */
function sockets(open: (target: AttackTarget, connection: number) => RawSocket & { stop?(): void }): Attack {
  return (target, connection) => {
    let begun = 1
    let one = open(target, connection)
    let wasHeld = false
    const timer = setInterval(() => {
      const { isHeld } = one
      if (wasHeld && !isHeld) {
        one.stop?.()
        one.close()
        one = open(target, connection)
        begun++
      }
      wasHeld = isHeld
    }, tickMs)
    return {
      get begun() {
        return begun
      },
      get left() {
        return one.isHeld ? 1 : 0
      },
      stop() {
        clearInterval(timer)
        one.stop?.()
      },
    }
  }
}

const slowHeaders = sockets((target, connection) => {
  const url = listenerOf(target, connection)
  const kind = Math.floor(connection / 2) % 3
  if (kind === 0) return unreadSocket(url, idleConnection)
  if (kind === 1) return unreadSocket(url, endlessHeader(paths.getUser))
  const one = unreadSocket(url, Buffer.from(`POST ${paths.getUser} HTTP/1.1\r\nhost: localhost\r\nx-slow: `))
  const timer = setInterval(() => one.socket.write("x"), 1_000)
  one.socket.once("close", () => clearInterval(timer))
  return Object.assign(one, { stop: () => clearInterval(timer) })
})

const unreadWithoutKey = sockets((target, connection) =>
  connection % 2
    ? unreadSocket(target.httpUrl, http1Request("/healthz"), 100_000)
    : unreadSocket(target.grpcUrl, http2Requests(paths.reflection, reflectionRequest, 100)),
)

const unreadWithKey = sockets((target, connection) => {
  const { key, largeUser } = target
  const body = getUserRequest(largeUser)
  return connection % 2
    ? unreadSocket(target.httpUrl, http1Request(paths.getUser, { method: "POST", key, body: body.subarray(5) }), 100)
    : unreadSocket(target.grpcUrl, http2Requests(paths.getUser, body, 100, key))
})

/** Sends HTTP/1.1 bodies that never end, with and without a content length. */
const endlessHttp1: Attack = ({ httpUrl }, connection) => {
  let begun = 0
  let left = 0
  let end = () => {}
  let isStopped = false
  const agent = new http.Agent({ keepAlive: true })
  const open = () => {
    if (isStopped) return
    const bytes = 1024 * 1024 * 1024
    const length = connection % 2 ? { "content-length": bytes } : {}
    const headers = { "content-type": "application/proto", ...length }
    const call = http.request(httpUrl + paths.getUser, { method: "POST", agent, headers })
    const message = sendAllButTheLastByte(call, { bytes, isEnveloped: false })
    end = message.stop
    begun++
    left++
    call.on("error", () => {})
    call.on("response", (response) => response.resume())
    call.once("close", () => {
      left--
      message.stop()
      setTimeout(open, tickMs)
    })
  }
  open()
  return {
    get begun() {
      return begun
    },
    get left() {
      return left
    },
    stop() {
      isStopped = true
      end()
    },
  }
}

/** Returns a pipeline message with fifty calls, each of which has a large answer. */
function pipelineOfLargeUsers({ largeUser }: AttackTarget): Buffer {
  const message = getUserRequest(largeUser).subarray(5)
  const calls = Array.from({ length: 50 }, (_, id) => ({ id, method: paths.getUser.slice(1), message }))
  return enveloped(toBinary(PipelineRequestSchema, create(PipelineRequestSchema, { calls })))
}

/** A pipeline message with as many calls as it may have, and as many fields in their headers as its number of parts allows. */
const manyCalls = enveloped(
  toBinary(
    PipelineRequestSchema,
    create(PipelineRequestSchema, {
      calls: Array.from({ length: 1_024 }, (_, id) => ({
        id,
        method: "none",
        header: Object.fromEntries(Array.from({ length: 6 }, (_, field) => [`f${field}`, ""])),
      })),
    }),
  ),
)

export const attacks: readonly { name: string; hasKey: boolean; begin: Attack }[] = [
  { name: "answers not taken: reflection", hasKey: false, begin: notTaken(paths.reflection, () => reflectionRequest) },
  { name: "answers not taken: Health/Check", hasKey: false, begin: notTaken(paths.check, () => empty) },
  { name: "answers not taken: Health/Watch", hasKey: false, begin: notTaken(paths.watch, () => empty) },
  { name: "endless messages: GetUser", hasKey: false, begin: endless(paths.getUser) },
  { name: "endless messages: reflection", hasKey: false, begin: endless(paths.reflection) },
  { name: "endless messages: HTTP/1.1", hasKey: false, begin: endlessHttp1 },
  { name: "slow headers", hasKey: false, begin: slowHeaders },
  { name: "half pipelines", hasKey: false, begin: halfPipelines(false) },
  { name: "unread sockets", hasKey: false, begin: unreadWithoutKey },
  {
    name: "answers not taken: GetUser, 256 KiB",
    hasKey: true,
    begin: notTaken(paths.getUser, ({ largeUser }) => getUserRequest(largeUser), true),
  },
  {
    name: "answers not taken: pipelines",
    hasKey: true,
    begin: notTakenInPipelines(pipelineOfLargeUsers),
  },
  { name: "answers not taken: rejected calls of pipelines", hasKey: true, begin: rejectedCalls },
  { name: "answers not taken: many calls in a pipeline", hasKey: true, begin: notTakenInPipelines(() => manyCalls) },
  { name: "endless messages: GetUser", hasKey: true, begin: endless(paths.getUser, true) },
  { name: "endless messages: pipelines", hasKey: true, begin: endless(paths.pipeline, true) },
  { name: "half pipelines", hasKey: true, begin: halfPipelines(true) },
  { name: "unread sockets", hasKey: true, begin: unreadWithKey },
]
