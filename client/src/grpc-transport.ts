import { StatusSchema } from "@authwire/proto/rpc/status"
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf"
import type { UnaryResponse } from "@connectrpc/connect"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { type CallOptions, Client, Metadata, type ServiceError } from "@grpc/grpc-js"
import { channelOptions, type GrpcTargetOptions, grpcTarget } from "./grpc-target.js"

/** A transport that holds a connection. */
export interface GrpcTransport extends Transport {
  /** Closes the connection. Calls in progress may still end; later calls fail with FAILED_PRECONDITION. */
  close(): void
}

/**
 * A Connect transport over @grpc/grpc-js: gRPC on HTTP/2, for Node. It connects at the first call, reconnects by itself,
 * and does not keep the process alive while no call is in progress.
 *
 * Unary methods only: a streaming method fails with UNIMPLEMENTED.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is wrong.
 */
export function grpcTransport(options: GrpcTargetOptions): GrpcTransport {
  const { target, credentials, settings } = grpcTarget(options)
  let client: Client | undefined
  let closed = false

  function connection(): Client {
    if (closed) throw new ConnectError("the client is closed", Code.FailedPrecondition)
    client ??= new Client(target, credentials, { ...channelOptions, ...settings })
    return client
  }

  return {
    async unary(method, signal, timeoutMs, header, input) {
      if (signal?.aborted) throw cancelled(signal)
      const metadata = toMetadata(header)
      const bytes = serialize(method, create(method.input, input))
      const callOptions = timeoutMs !== undefined && timeoutMs > 0 ? { deadline: Date.now() + timeoutMs } : {}
      return request(connection(), method, bytes, metadata, callOptions, signal)
    },
    async stream(method) {
      throw new ConnectError(`${method.name} is a streaming method: this transport has none`, Code.Unimplemented)
    },
    close() {
      closed = true
      client?.close()
      client = undefined
    },
  }
}

function request<I extends DescMessage, O extends DescMessage>(
  client: Client,
  method: DescMethodUnary<I, O>,
  bytes: Buffer,
  metadata: Metadata,
  callOptions: CallOptions,
  signal: AbortSignal | undefined,
): Promise<UnaryResponse<I, O>> {
  return new Promise((resolve, reject) => {
    const received: Received = {}
    const cancel = () => call.cancel()
    const call = client.makeUnaryRequest(
      `/${method.parent.typeName}/${method.name}`,
      identity,
      (answer) => fromBinary(method.output, answer),
      bytes,
      metadata,
      callOptions,
      (error, message) => {
        signal?.removeEventListener("abort", cancel)
        if (error) reject(signal?.aborted ? cancelled(signal) : toConnectError(error))
        else if (message === undefined) reject(new ConnectError("the answer has no message", Code.Internal))
        else resolve(toResponse(method, message, received))
      },
    )
    call.on("metadata", (metadata) => {
      received.header = metadata
    })
    // Comes right after the callback: before whoever awaits the answer runs.
    call.on("status", (status) => {
      received.trailer = status.metadata
    })
    signal?.addEventListener("abort", cancel)
  })
}

interface Received {
  header?: Metadata
  trailer?: Metadata
}

/** Headers are made only when somebody reads them: hardly anyone does. */
function toResponse<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  message: MessageShape<O>,
  received: Received,
): UnaryResponse<I, O> {
  return {
    stream: false,
    service: method.parent,
    method,
    message,
    get header() {
      return toHeaders(received.header)
    },
    get trailer() {
      return toHeaders(received.trailer)
    },
  }
}

const identity = (bytes: Buffer) => bytes

/** Before the call, because grpc-js would report a message that breaks the schema as INTERNAL. */
function serialize<I extends DescMessage>(method: DescMethodUnary<I>, message: MessageShape<I>): Buffer {
  try {
    const bytes = toBinary(method.input, message)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  } catch (error) {
    throw ConnectError.from(error, Code.InvalidArgument)
  }
}

function cancelled(signal: AbortSignal): ConnectError {
  return ConnectError.from(signal.reason, Code.Canceled)
}

function toMetadata(header: HeadersInit | undefined): Metadata {
  const metadata = new Metadata()
  if (header === undefined) return metadata
  for (const [name, value] of header instanceof Headers ? header : new Headers(header)) {
    try {
      if (name.endsWith("-bin")) metadata.set(name, Buffer.from(value, "base64"))
      else metadata.set(name, value)
    } catch {
      // What grpc-js throws repeats the value, and that may be a secret.
      throw new ConnectError(`the header ${name} has characters that gRPC does not carry`, Code.InvalidArgument)
    }
  }
  return metadata
}

function toHeaders(metadata: Metadata | undefined): Headers {
  const headers = new Headers()
  for (const [name, values] of Object.entries(metadata?.toJSON() ?? {})) {
    for (const value of values) {
      try {
        headers.append(name, typeof value === "string" ? value : value.toString("base64"))
      } catch {
        // gRPC may carry what Headers refuse. Such a header is nothing to fail for.
      }
    }
  }
  return headers
}

/** The numbers of the codes are the same in both. */
function toConnectError({ code, details, metadata }: ServiceError): ConnectError {
  // grpc-js adds a note that is mostly empty.
  const message = details.replace(/\.? Resolution note: $/, "")
  const error = new ConnectError(message, code as number as Code, toHeaders(metadata))
  // Should a handler of Connect pass the error on, it does not pass on its headers.
  error.isWireError = true
  const [bytes] = metadata.get("grpc-status-details-bin")
  if (bytes instanceof Uint8Array) error.details = readDetails(bytes, error.code)
  return error
}

function readDetails(bytes: Uint8Array, code: Code): ConnectError["details"] {
  try {
    const status = fromBinary(StatusSchema, bytes)
    // A proxy that changed the status leaves the details of another one behind.
    if (status.code !== code) return []
    return status.details.map(({ typeUrl, value }) => ({ type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), value }))
  } catch {
    return []
  }
}
