import { setTimeout } from "node:timers/promises"
import { ErrorInfoSchema } from "@authwire/proto/rpc/error_details"
import { errorOf, frame, openBarePipeline } from "@authwire/test-support/connections/bare-pipeline.js"
import { http1Options } from "@authwire/test-support/connections/http1.js"
import type { ServerProcess } from "@authwire/test-support/processes/server.js"
import type {
  DescMessage,
  DescMethod,
  DescMethodStreaming,
  DescMethodUnary,
  MessageInitShape,
} from "@bufbuild/protobuf"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node"

/** The outcome of a call: the code, and the reason of an error. */
export interface Outcome {
  code: string
  reason?: string | undefined
  /** The scope in the error. */
  scope?: string | undefined
  /** What the client says of an error without a reason, which the service has not sent. */
  text?: string | undefined
}

/** A way to make a call, with a key or without one. */
export interface Way {
  readonly name: string
  carries(method: DescMethod): boolean
  call(server: ServerProcess, method: DescMethod, request: object, header?: Record<string, string>): Promise<Outcome>
}

const isUnary = (method: DescMethod) => method.methodKind === "unary"

/** Every transport of the service. A call without a response within 20 s fails with an error that names the call. */
export const ways: readonly Way[] = [
  over(
    "gRPC",
    ({ grpcUrl }) => createGrpcTransport({ baseUrl: grpcUrl }),
    () => true,
  ),
  over(
    "gRPC, through the HTTP listener",
    ({ httpUrl }) => createGrpcTransport({ baseUrl: httpUrl }),
    () => true,
  ),
  over(
    "Connect",
    ({ httpUrl }) => createConnectTransport({ baseUrl: httpUrl, httpVersion: "2" }),
    () => true,
  ),
  over(
    "Connect over HTTP/1.1",
    ({ httpUrl }) => createConnectTransport({ ...http1Options, baseUrl: httpUrl }),
    isUnary,
  ),
  over("gRPC-Web", ({ httpUrl }) => createGrpcWebTransport({ ...http1Options, baseUrl: httpUrl }), isUnary),
  pipelined("the pipeline", ({ grpcUrl }) => grpcUrl),
  pipelined("the pipeline, through the HTTP listener", ({ httpUrl }) => httpUrl),
].map((way) => ({
  ...way,
  call: (server, method, request, header) =>
    answered(`${method.name} over ${way.name}`, way.call(server, method, request, header)),
}))

async function answered(what: string, call: Promise<Outcome>): Promise<Outcome> {
  const timer = new AbortController()
  const late = setTimeout(20_000, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`${what} was not answered`)
  })
  try {
    return await Promise.race([call, late])
  } finally {
    timer.abort()
  }
}

function over(name: string, connect: (server: ServerProcess) => Transport, carries: Way["carries"]): Way {
  const transports = new Map<ServerProcess, Transport>()
  const transportTo = (server: ServerProcess): Transport => {
    const transport = transports.get(server) ?? connect(server)
    transports.set(server, transport)
    return transport
  }
  return {
    name,
    carries,
    async call(server, method, request, header = {}) {
      const transport = transportTo(server)
      try {
        if (method.methodKind === "unary") {
          await transport.unary(
            method as DescMethodUnary,
            undefined,
            undefined,
            header,
            request as MessageInitShape<DescMessage>,
          )
        } else {
          const streaming = method as DescMethodStreaming
          const answers = await transport.stream(streaming, undefined, undefined, header, nothing())
          for await (const _ of answers.message);
        }
        return { code: "OK" }
      } catch (error) {
        if (!(error instanceof ConnectError)) throw error
        const [info] = error.findDetails(ErrorInfoSchema)
        const text = info === undefined ? `${error.message}, because of ${error.cause}` : undefined
        return { code: Code[error.code], reason: info?.reason, scope: info?.metadata.scope, text }
      }
    },
  }
}

function pipelined(name: string, urlOf: (server: ServerProcess) => string): Way {
  return {
    name,
    carries: isUnary,
    async call(server, method, request, header) {
      const stream = openBarePipeline(urlOf(server), header)
      try {
        stream.send({ calls: [frame(1, method as DescMethodUnary, request as MessageInitShape<DescMethod["input"]>)] })
        const opened = await stream.next().then(
          () => true,
          () => false,
        )
        if (!opened) {
          const { code, reason } = await stream.ended
          return { code: codeName(code), reason }
        }
        const [answer] = await stream.answers(1)
        if (answer?.outcome.case === "message") return { code: "OK" }
        const error = errorOf(answer as NonNullable<typeof answer>)
        return { code: codeName(error.code), reason: error.reason, scope: error.scope }
      } finally {
        stream.cancel()
      }
    },
  }
}

async function* nothing() {}

/** Converts UNAUTHENTICATED to the spelling of Connect: Unauthenticated. */
function codeName(code: string): string {
  return code.toLowerCase().replaceAll(/(^|_)(\w)/g, (_, _separator, letter: string) => letter.toUpperCase())
}
