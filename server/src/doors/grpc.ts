import type { Http2Server, IncomingHttpHeaders } from "node:http2"
import { createServer, type Socket } from "node:net"
import { createServer as createTlsServer, Server as TlsServer } from "node:tls"
import { StatusSchema } from "@authwire/proto/rpc/status"
import { type DescMethod, type Message, toBinary } from "@bufbuild/protobuf"
import {
  logVerbosity,
  Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  ServerInterceptingCall,
  type ServerInterceptor,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  setLogVerbosity,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js"
import type { Dispatch, Method } from "../dispatch/dispatch.js"
import type { Incoming } from "../dispatch/under-way.js"
import { wireStatus } from "../dispatch/wire-status.js"
import { waitsUntil } from "../or-aborted.js"
import type { Door, DoorOptions } from "./door.js"
import { refuseEarly } from "./early-refusal.js"
import { limits } from "./limits.js"
import { listen } from "./listen.js"
import { clampGrpcTimeout } from "./timeout.js"
import { admits, followCertificate, namesOf, tlsServerOptions } from "./tls.js"

/** The length of the preface of HTTP/2 (RFC 9113, section 3.4). */
const prefaceBytes = 24

type UnaryCall = ServerUnaryCall<Buffer, Uint8Array>
type StreamCall = ServerWritableStream<Buffer, Uint8Array> | ServerDuplexStream<Buffer, Uint8Array>

/** Opens the gRPC door, served by grpc-js. Rejects as `listen` does. */
export async function openGrpcDoor(options: DoorOptions): Promise<Door> {
  // It writes headers that it cannot read to the error output, keys and cookies too.
  setLogVerbosity(logVerbosity.NONE)
  const { certificate, handshakeTimeoutMs, log } = options
  const asksClients = certificate?.asksClients === true
  const server = new Server({
    "grpc.max_receive_message_length": options.maxMessageBytes,
    "grpc.max_send_message_length": -1,
    // A client that is gone without a word is noticed.
    "grpc.keepalive_time_ms": 60_000,
    "grpc.keepalive_timeout_ms": 20_000,
    "grpc.max_connection_idle_ms": options.idleTimeoutMs,
    "grpc.max_concurrent_streams": limits.maxConcurrentStreams,
    // What channelz would count of each call, nobody could ask for.
    "grpc.enable_channelz": 0,
    interceptors: [arrivalLimit(options.dispatch.maxDeadlineMs)],
  })
  for (const { methods } of options.dispatch.services) {
    const definition: Record<string, MethodDefinition<Uint8Array, Uint8Array>> = {}
    const implementation: UntypedServiceImplementation = {}
    for (const method of methods) {
      definition[method.desc.localName] = methodDefinition(method.desc)
      implementation[method.desc.localName] =
        method.desc.methodKind === "unary" ? unary(method, asksClients) : stream(method, asksClients)
    }
    server.addService(definition, implementation)
  }
  const connections = server.createConnectionInjector(ServerCredentials.createInsecure())
  tune(server, options.dispatch)
  const accept = (socket: Socket) => {
    // A connection that does not say in time that it speaks HTTP/2 is closed.
    const timer = setTimeout(() => socket.bytesRead < prefaceBytes && socket.destroy(), handshakeTimeoutMs)
    socket.once("close", () => clearTimeout(timer))
    connections.injectConnection(socket)
  }
  const acceptor =
    certificate === undefined
      ? createServer({ noDelay: true }, accept)
      : createTlsServer(
          { ...tlsServerOptions(certificate, { protocols: ["h2"], handshakeTimeoutMs }), noDelay: true },
          (socket) => {
            if (!admits(socket, certificate, log)) return
            if (socket.alpnProtocol === "h2") accept(socket)
            else socket.destroy()
          },
        )
  if (acceptor instanceof TlsServer && certificate !== undefined) followCertificate(acceptor, certificate, log)
  const listener = await listen(acceptor, options)
  return {
    address: listener.address,
    stopAccepting() {
      listener.stop()
      // Tells every client to take its next calls elsewhere, and lets those under way finish.
      server.tryShutdown(() => {})
    },
    closed: listener.closed,
  }
}

// grpc-js makes its server of HTTP/2 by itself and takes no option for these. The server's map of them is its own
// affair: where it is another one day, calls with a time-out of months fail as they did before, and a test says so.
function tune(server: Server, dispatch: Dispatch): void {
  const { http2Servers } = server as unknown as { http2Servers: Map<Http2Server, unknown> }
  for (const http2Server of http2Servers.keys()) {
    http2Server.updateSettings({
      maxConcurrentStreams: limits.maxConcurrentStreams,
      maxHeaderListSize: limits.maxHeaderBytes,
    })
    refuseEarly(http2Server, dispatch)
    http2Server.prependListener("stream", (_stream, headers: IncomingHttpHeaders) => clampGrpcTimeout(headers))
  }
}

// Messages pass grpc-js as bytes: a request that cannot be decoded is then the caller's fault by our own words.
function methodDefinition(method: DescMethod): MethodDefinition<Uint8Array, Uint8Array> {
  const asIs = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming",
    responseStream: method.methodKind === "server_streaming" || method.methodKind === "bidi_streaming",
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  }
}

// The deadline of a call counts from when its request is there whole; this is for those that never are.
function arrivalLimit(maxMs: number): ServerInterceptor {
  return (method, call) => {
    if (method.requestStream) return new ServerInterceptingCall(call)
    let timer: NodeJS.Timeout | undefined
    const late = { code: status.DEADLINE_EXCEEDED, details: "the request did not arrive in time", metadata: null }
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata(metadata, nextMetadata) {
            timer = setTimeout(() => call.sendStatus(late), maxMs)
            nextMetadata(metadata)
          },
          onReceiveHalfClose(nextHalfClose) {
            clearTimeout(timer)
            nextHalfClose()
          },
          onCancel: () => clearTimeout(timer),
        }),
    })
  }
}

function unary(method: Method, asksClients: boolean) {
  return (call: UnaryCall, callback: sendUnaryData<Uint8Array>): void => {
    const running = method.begin(incoming(call, asksClients))
    call.on("cancelled", () => running.cancel())
    method
      .unaryBytes(call.request, running.call)
      .then(
        (answer) => callback(null, answer),
        (error: unknown) => callback(toServiceError(error)),
      )
      // grpc-js throws where it cannot send, because the client has gone.
      .catch(() => running.cancel())
      .finally(running.end)
  }
}

function stream(method: Method, asksClients: boolean) {
  const { codec } = method
  return async (call: StreamCall): Promise<void> => {
    const running = method.begin(incoming(call, asksClients))
    call.on("cancelled", () => running.cancel())
    // grpc-js reports a broken request stream as an error event; the iteration below sees it too.
    call.on("error", () => running.cancel())
    const { signal } = running.call
    async function* requests(): AsyncIterable<Message> {
      if ("request" in call) yield codec.decode(call.request)
      // A stream that its reader leaves early must still be able to say why.
      else for await (const bytes of call.iterator({ destroyOnReturn: false })) yield codec.decode(bytes)
    }
    const waits = waitsUntil(signal)
    try {
      let last: Promise<void> | undefined
      for await (const answer of method.stream(requests(), running.call)) {
        const bytes = codec.encode(answer)
        const sent = new Promise<void>((resolve) => call.write(bytes, () => resolve()))
        // One on its way, one that waits. The stream would take sixteen, of any size, from those who do not read.
        // Once the call is over, the method says why.
        if (last !== undefined) await waits.for(last).catch(() => {})
        last = sent
      }
      call.end()
    } catch (error) {
      call.emit("error", toServiceError(error))
    } finally {
      waits.end()
      running.end()
    }
  }
}

function incoming(call: UnaryCall | StreamCall, asksClients: boolean): Incoming {
  const deadline = Number(call.getDeadline())
  return {
    door: "grpc",
    timeoutMs: Number.isFinite(deadline) ? deadline - Date.now() : undefined,
    header: (name) => call.metadata.get(name)[0]?.toString(),
    ...(asksClients && { certificateNames: certificateNames(call) }),
  }
}

// Reading the certificate takes a while, so only a door that asks for one does it.
function certificateNames(call: UnaryCall | StreamCall): readonly string[] | undefined {
  try {
    // There only if it was verified.
    const { sslPeerCertificate } = call.getAuthContext()
    return sslPeerCertificate && namesOf(sslPeerCertificate.subjectaltname)
  } catch {
    // The connection is gone, and so is whoever would hear the answer.
    return undefined
  }
}

function toServiceError(error: unknown): { code: number; details: string; metadata: Metadata } {
  const failure = wireStatus(error)
  const metadata = new Metadata()
  metadata.set("grpc-status-details-bin", Buffer.from(toBinary(StatusSchema, failure)))
  return { code: failure.code, details: failure.message, metadata }
}
