/** The listener to which an input is sent. */
export type ListenerName = "grpc" | "http"

/** Bytes on a connection of their own. */
export interface RawInput {
  kind: "raw"
  transport: ListenerName
  bytes: Buffer
}

/** An HTTP request with correct framing. Its headers and body may be invalid. */
export interface CallInput {
  kind: "call"
  transport: ListenerName
  version: 1 | 2
  method: "POST" | "GET"
  path: string
  headers: [name: string, value: string][]
  body: Buffer
  /** Whether the request ends. A request that does not end must be rejected by what was sent. Default: true. */
  ends?: boolean
}

/** A message on a pipeline stream that stays open. */
export interface FrameInput {
  kind: "frame"
  bytes: Buffer
  /** The ids that must each be answered once. Undefined if the message itself is invalid and may end the stream. */
  ids?: number[]
}

/** Bytes on an HTTP/2 connection of their own, which then stays open. */
export interface ConnectionInput {
  kind: "connection"
  transport: ListenerName
  bytes: Buffer
  /** Offsets at which the bytes are split. The parts are sent separately. */
  cuts: number[]
  /** Whether the sender reads the data of the server. */
  reads: boolean
  /** Whether the sender finally checks with a ping that everything was read. Requires `reads`. */
  pings: boolean
  /** How long the connection stays open after the last byte, in milliseconds, unless the server closes it. */
  holdMs: number
}

export type Input = RawInput | CallInput | FrameInput | ConnectionInput

/** The name of a hostile input. */
export interface NamedInput {
  name: string
  input: Input
}

/** Converts an input to JSON. Bytes become base64. */
export function toJson(input: Input): object {
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, Buffer.isBuffer(value) ? value.toString("base64") : value]),
  )
}

/** Converts the result of `toJson` back. */
export function fromJson(json: Record<string, unknown>): Input {
  const bytesIn = json.kind === "call" ? "body" : "bytes"
  return { ...json, [bytesIn]: Buffer.from(String(json[bytesIn]), "base64") } as unknown as Input
}
