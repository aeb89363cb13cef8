import { StatusSchema } from "@authwire/proto/rpc/status"
import { type DescMethod, type Message, toBinary } from "@bufbuild/protobuf"
import { Metadata, type MethodDefinition } from "@grpc/grpc-js"
import { Failure, toStatus } from "../../errors/failure.js"
import { wireStatus } from "../../errors/wire-status.js"
import type { ActiveCall, Incoming } from "../../rpc/active-calls.js"
import type { Method } from "../../rpc/router.js"
import { orAborted, waitsUntil } from "../../util/abort.js"
import type { OpenMethods } from "../budgets/open-methods.js"
import { pushInOwnMemory } from "../budgets/own-memory.js"
import type { Share } from "../budgets/share.js"
import type { Connection } from "../connection.js"
import { markAdmitted } from "../cut/cut.js"
import type { HandedCall, Handover, StreamCall, UnaryCall } from "./handover.js"
import { endWithStatus, type GrpcStream, onlyIdentity } from "./streams.js"

/** A call at the gRPC listener of which only the header was read. */
export interface GrpcArrival {
  readonly method: Method
  readonly incoming: Incoming
  readonly connection: Connection
  readonly stream: GrpcStream
  readonly share: Share
  readonly handover: Handover
  readonly openMethods: OpenMethods
}

/**
 * Returns the definition of a method for grpc-js, which passes messages through as bytes. A request that cannot be decoded is
 * therefore rejected with this service's own error.
 */
export function methodDefinition(method: DescMethod): MethodDefinition<Uint8Array, Uint8Array> {
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

export function serveUnary(arrival: GrpcArrival): void {
  const { method, stream, share } = arrival
  const active = begin(arrival)
  let handed: HandedCall | undefined
  const read = async (): Promise<Uint8Array> => {
    handed = await give(arrival)
    return (handed.call as UnaryCall).request
  }
  method
    .unaryBytes(read, active)
    .then((answer) => {
      if (share.answers(answer.length)) {
        handed?.call.sendMetadata(answerHeader)
        handed?.answer?.(null, answer)
      } else throw toStatus(new Failure("ANSWERS_NOT_TAKEN"), active.requestId)
    })
    // Also runs if grpc-js throws because it cannot send. The client has then disconnected and receives no status.
    .catch((error: unknown) => endWithStatus(stream.stream, wireStatus(error)))
    .finally(() => active.end())
}

export async function serveStream(arrival: GrpcArrival): Promise<void> {
  const { method, stream, share, connection, openMethods } = arrival
  const active = begin(arrival)
  const { signal } = active
  const { codec } = method
  let handing: Promise<StreamCall> | undefined
  let handed: StreamCall | undefined
  const call = () => {
    handing ??= orAborted(give(arrival), signal).then(({ call }) => {
      handed = call as StreamCall
      // grpc-js reports a broken request stream as an error event. The iteration below also receives it.
      handed.on("error", () => active.cancel())
      handed.sendMetadata(answerHeader)
      return handed
    })
    return handing
  }
  async function* requests(): AsyncIterable<Message> {
    const from = await call()
    if ("request" in from) {
      share.read()
      yield codec.decode(from.request)
    }
    // The stream must not be destroyed when the iteration ends early, because the status still has to be sent over it.
    else {
      let isFirst = true
      try {
        for await (const bytes of from.iterator({ destroyOnReturn: false })) {
          const tooMany = method.isOpen && !isFirst ? openMethods.request(method.desc, connection) : undefined
          if (tooMany !== undefined) throw tooMany
          isFirst = false
          share.read()
          yield codec.decode(bytes)
        }
      } catch (cause) {
        // Either grpc-js has already answered the client with the error of its request, or the client has disconnected.
        throw cause instanceof Failure ? cause : new Failure("CANCELLED", { cause })
      }
      if (share.isPartial) throw new Failure("INVALID_FIELD", { violations: [notWhole] })
    }
  }
  const waits = waitsUntil(signal)
  let last: Promise<void> | undefined
  try {
    for await (const answer of method.stream(requests(), active)) {
      const to = handed ?? (await call())
      const bytes = codec.encode(answer)
      share.sent()
      const { promise: sent, resolve } = Promise.withResolvers<void>()
      to.write(bytes, () => {
        share.taken()
        resolve()
      })
      // At most two messages are outstanding: one in transit and one queued. Otherwise the stream would buffer sixteen
      // messages, of any size, for a client that does not read. If the call is over, the error of the wait is ignored,
      // because the method throws the reason.
      if (last !== undefined) await waits.for(last).catch(() => {})
      last = sent
    }
    const to = await call()
    to.end()
  } catch (thrown) {
    const error = thrown instanceof Failure ? toStatus(thrown, active.requestId) : thrown
    if (handed === undefined) endWithStatus(stream.stream, wireStatus(error))
    else failWhenSent(handed, last, error)
  } finally {
    waits.end()
    active.end()
  }
}

// An error ends the reading of the request, and that destroys the stream. The status is therefore sent only after an
// answer that is still in transit. Otherwise it would be lost.
function failWhenSent(call: StreamCall, answer: Promise<void> | undefined, error: unknown): void {
  const fail = () => call.emit("error", toServiceError(error))
  if (answer === undefined) fail()
  else answer.then(fail)
}

const notWhole = { field: "request", description: "ends within a message" }

// No cache between the client and the service may store an answer, and clients should not compress their requests.
const answerHeader = new Metadata()
answerHeader.set("cache-control", "no-store")
for (const [name, value] of Object.entries(onlyIdentity)) answerHeader.set(name, value)

function begin({ method, incoming, stream: { stream } }: GrpcArrival): ActiveCall {
  const active = method.begin(incoming)
  stream.once("close", () => active.cancel())
  return active
}

/** Lets grpc-js read the request of a call that was admitted and has its slot. */
async function give({ method, stream, share, handover }: GrpcArrival): Promise<HandedCall> {
  if (!method.isOpen) markAdmitted(stream.stream)
  pushInOwnMemory(stream.stream)
  const handed = handover.give(stream)
  // A second listener beside that of grpc-js, which has paused the stream and decides when it is read.
  stream.stream.on("data", (chunk: Buffer) => share.received(chunk))
  return handed
}

function toServiceError(error: unknown): { code: number; details: string; metadata: Metadata } {
  const failure = wireStatus(error)
  const metadata = new Metadata()
  metadata.set("grpc-status-details-bin", Buffer.from(toBinary(StatusSchema, failure)))
  return { code: failure.code, details: failure.message, metadata }
}
