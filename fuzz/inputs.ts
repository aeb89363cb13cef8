/** Which of the two ports an input goes to. */
export type ListenerName = "grpc" | "http"

/** Bytes on a connection of their own. */
export interface RawInput {
  kind: "raw"
  transport: ListenerName
  bytes: Buffer
}

/** A well-framed request of HTTP: what is broken is in its headers and in its body. */
export interface CallInput {
  kind: "call"
  transport: ListenerName
  version: 1 | 2
  method: "POST" | "GET"
  path: string
  headers: [name: string, value: string][]
  body: Buffer
  /** Whether the request ends; one that does not must be rejected by what it has said. Default: true. */
  ends?: boolean
}

/** A message on a stream of the pipeline that stays open. */
export interface FrameInput {
  kind: "frame"
  bytes: Buffer
  /** The ids that must be answered, each once; undefined where the message itself is broken, and may end the stream. */
  ids?: number[]
}

/** Bytes of HTTP/2 on a connection of their own, which then stays open. */
export interface ConnectionInput {
  kind: "connection"
  transport: ListenerName
  bytes: Buffer
  /** Where the bytes are cut: what comes after is sent in another turn. */
  cuts: number[]
  /** Whether the sender takes what the server sends. */
  reads: boolean
  /** Whether the sender asks at the end whether all was read, if it takes what the server sends. */
  pings: boolean
  /** How long it stays open after the last byte, in milliseconds, unless the server closes it. */
  holdMs: number
}

export type Input = RawInput | CallInput | FrameInput | ConnectionInput

/** What a test of hostile input calls it. */
export interface NamedInput {
  name: string
  input: Input
}

/** An input as JSON; bytes are base64. */
export function toJson(input: Input): object {
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, Buffer.isBuffer(value) ? value.toString("base64") : value]),
  )
}

/** The reverse of `toJson`. */
export function fromJson(json: Record<string, unknown>): Input {
  const bytesIn = json.kind === "call" ? "body" : "bytes"
  return { ...json, [bytesIn]: Buffer.from(String(json[bytesIn]), "base64") } as unknown as Input
}
