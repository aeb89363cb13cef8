import { once } from "node:events"
import { createServer } from "node:net"
import { StatusSchema } from "@authwire/proto/rpc/status"
import { create, type DescMessage, type DescMethod, fromBinary, type Message, toBinary } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError } from "@connectrpc/connect"
import {
  Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js"
import type { Incoming, Method } from "../dispatch/dispatch.js"
import { Failure, toStatus } from "../errors.js"
import type { Door, DoorOptions } from "./door.js"
import { listen } from "./listen.js"

type UnaryCall = ServerUnaryCall<Buffer, Uint8Array>
type StreamCall = ServerWritableStream<Buffer, Uint8Array> | ServerDuplexStream<Buffer, Uint8Array>

/** Opens the gRPC door, served by grpc-js. Rejects as `listen` does. */
export async function openGrpcDoor(options: DoorOptions): Promise<Door> {
  const server = new Server({
    "grpc.max_receive_message_length": options.maxMessageBytes,
    "grpc.max_send_message_length": -1,
  })
  for (const { methods } of options.dispatch.services) {
    const definition: Record<string, MethodDefinition<Uint8Array, Uint8Array>> = {}
    const implementation: UntypedServiceImplementation = {}
    for (const method of methods) {
      definition[method.desc.localName] = methodDefinition(method.desc)
      implementation[method.desc.localName] = method.desc.methodKind === "unary" ? unary(method) : stream(method)
    }
    server.addService(definition, implementation)
  }
  const connections = server.createConnectionInjector(ServerCredentials.createInsecure())
  const acceptor = createServer({ noDelay: true }, (socket) => connections.injectConnection(socket))
  const listener = await listen(acceptor, options.address)
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

function unary(method: Method) {
  const { input, output } = method.desc
  return (call: UnaryCall, callback: sendUnaryData<Uint8Array>): void => {
    const running = method.begin(incoming(call))
    call.on("cancelled", running.cancel)
    decode(input, call.request, running.call.requestId)
      .then((request) => method.unary(request, running.call))
      .then(
        (answer) => callback(null, toBinary(output, answer)),
        (error: unknown) => callback(toServiceError(error)),
      )
      .finally(running.end)
  }
}

function stream(method: Method) {
  const { input, output } = method.desc
  return async (call: StreamCall): Promise<void> => {
    const running = method.begin(incoming(call))
    call.on("cancelled", running.cancel)
    // grpc-js reports a broken request stream as an error event; the iteration below sees it too.
    call.on("error", running.cancel)
    const { signal, requestId } = running.call
    async function* requests(): AsyncIterable<Message> {
      if ("request" in call) yield await decode(input, call.request, requestId)
      else for await (const bytes of call) yield await decode(input, bytes, requestId)
    }
    try {
      for await (const answer of method.stream(requests(), running.call)) {
        if (!call.write(toBinary(output, answer))) await once(call, "drain", { signal })
      }
      call.end()
    } catch (error) {
      call.emit("error", toServiceError(error))
    } finally {
      running.end()
    }
  }
}

function incoming(call: UnaryCall | StreamCall): Incoming {
  const deadline = Number(call.getDeadline())
  return {
    door: "grpc",
    timeoutMs: Number.isFinite(deadline) ? deadline - Date.now() : undefined,
    header: (name) => call.metadata.get(name)[0]?.toString(),
  }
}

async function decode(schema: DescMessage, bytes: Uint8Array, requestId: string): Promise<Message> {
  try {
    return fromBinary(schema, bytes)
  } catch (cause) {
    const violations = [{ field: "request", description: `is not a well-formed ${schema.typeName}` }]
    throw toStatus(new Failure("INVALID_FIELD", { cause, violations }), requestId)
  }
}

function toServiceError(error: unknown): { code: number; details: string; metadata: Metadata } {
  const status = error instanceof ConnectError ? error : new ConnectError("internal error", Code.Internal)
  const message = create(StatusSchema, {
    code: status.code,
    message: status.rawMessage,
    details: status.details.flatMap((detail) =>
      "desc" in detail ? [anyPack(detail.desc, create(detail.desc, detail.value))] : [],
    ),
  })
  const metadata = new Metadata()
  metadata.set("grpc-status-details-bin", Buffer.from(toBinary(StatusSchema, message)))
  return { code: status.code, details: status.rawMessage, metadata }
}
