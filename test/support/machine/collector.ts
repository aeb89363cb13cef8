import { createServer, type IncomingHttpHeaders, type Server } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { buffer } from "node:stream/consumers"
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire"

/** A span as a collector receives it. */
export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty for the root span of a trace. */
  readonly parentId: string
  readonly name: string
  readonly kind: "internal" | "server" | "client" | undefined
  /** Nanoseconds since 1970. */
  readonly start: bigint
  readonly end: bigint
  readonly isError: boolean
  readonly attributes: Readonly<Record<string, unknown>>
  /** The resource attributes of the process that created the span. */
  readonly resource: Readonly<Record<string, unknown>>
}

/** A collector of traces: OTLP over HTTP with protobuf. */
export interface Collector {
  readonly url: string
  readonly spans: readonly CollectedSpan[]
  /** The headers of the last request. */
  readonly headers: IncomingHttpHeaders
  /** The number of requests received. */
  readonly requests: number
  /** How it responds: it accepts the spans, returns an error, or does not respond. */
  behaviour: "takes" | "fails" | "hangs"
  close(): Promise<void>
}

/** @param port The port on which it listens. Default: a free port. */
export async function startCollector(port = 0): Promise<Collector> {
  const spans: CollectedSpan[] = []
  const sockets = new Set<Socket>()
  let headers: IncomingHttpHeaders = {}
  let requests = 0
  const server: Server = createServer(async (request, response) => {
    const body = await buffer(request)
    requests++
    headers = request.headers
    if (collector.behaviour === "hangs") return
    const isTaken = collector.behaviour === "takes" && request.method === "POST" && request.url === "/v1/traces"
    if (isTaken) spans.push(...spansOf(body))
    response.writeHead(isTaken ? 200 : 400, { "content-type": "application/x-protobuf" }).end()
  })
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    get headers() {
      return headers
    },
    get requests() {
      return requests
    },
    behaviour: "takes",
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
  return collector
}

/** The fields of a decoded message by their numbers. */
type Fields = ReadonlyMap<number, (Uint8Array | bigint | number)[]>

function fieldsOf(bytes: Uint8Array): Fields {
  const reader = new BinaryReader(bytes)
  const fields = new Map<number, (Uint8Array | bigint | number)[]>()
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag()
    const values = fields.get(number) ?? []
    fields.set(number, values)
    if (type === WireType.LengthDelimited) values.push(reader.bytes())
    else if (type === WireType.Varint) values.push(BigInt(reader.int64()))
    else if (type === WireType.Bit64) values.push(BigInt(reader.fixed64()))
    else values.push(reader.fixed32())
  }
  return fields
}

const messages = (fields: Fields, number: number) =>
  (fields.get(number) ?? []).map((one) => fieldsOf(one as Uint8Array))
const bytes = (fields: Fields, number: number) => Buffer.from((fields.get(number)?.[0] as Uint8Array) ?? [])
const integer = (fields: Fields, number: number) => (fields.get(number)?.[0] as bigint) ?? 0n

const kinds = [undefined, "internal", "server", "client"] as const
const errorStatus = 2n

/** opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest. */
function spansOf(request: Uint8Array): CollectedSpan[] {
  return messages(fieldsOf(request), 1).flatMap((ofResource) => {
    const resource = attributesOf(messages(ofResource, 1)[0] ?? new Map(), 1)
    const spans = messages(ofResource, 2).flatMap((ofScope) => messages(ofScope, 2))
    return spans.map((span) => ({
      traceId: bytes(span, 1).toString("hex"),
      spanId: bytes(span, 2).toString("hex"),
      parentId: bytes(span, 4).toString("hex"),
      name: bytes(span, 5).toString(),
      kind: kinds[Number(integer(span, 6))],
      start: integer(span, 7),
      end: integer(span, 8),
      isError: messages(span, 15).some((status) => integer(status, 3) === errorStatus),
      attributes: attributesOf(span, 9),
      resource,
    }))
  })
}

function attributesOf(fields: Fields, number: number): Record<string, unknown> {
  return Object.fromEntries(
    messages(fields, number).map((pair) => {
      const value = messages(pair, 2)[0] ?? new Map()
      return [bytes(pair, 1).toString(), value.has(1) ? bytes(value, 1).toString() : Number(integer(value, 3))]
    }),
  )
}
