import http2 from "node:http2"
import { type PipelineAnswer, PipelineResponseSchema } from "@authwire/proto"
import { fromBinary } from "@bufbuild/protobuf"
import { envelope } from "../generate/calls.ts"
import type { FrameInput, ListenerName } from "../inputs.ts"
import { type Outcome, patienceMs } from "../outcome.ts"
import type { Ports } from "../server-process.ts"

/** A pipeline stream without the project's client. */
export interface PipelineStream {
  write(frame: FrameInput): void
  /** Ends the client's side of the stream. */
  finish(): void
  /** Cancels the stream. */
  cancel(): void
  /**
   * Returns the result of the promise, or how the stream ended before that. Returns `hung` if neither happens in time.
   */
  until<T>(waited: Promise<T>): Promise<T | Outcome>
}

/** Opens a connection with a stream. Resolves when the service has accepted or rejected the stream. */
export async function openPipelineStream(
  ports: Ports,
  transport: ListenerName,
  onAnswer: (answer: PipelineAnswer) => void,
): Promise<PipelineStream> {
  const session = http2.connect(`http://127.0.0.1:${ports[transport]}`)
  session.on("error", () => {})
  const stream = session.request({
    ":method": "POST",
    ":path": "/authwire.v1.PipelineService/Pipeline",
    "content-type": "application/grpc",
    te: "trailers",
  })
  let status: number | undefined
  let [headers, trailers]: Record<string, string>[] = [{}, {}]
  let left: Buffer = Buffer.alloc(0)
  stream.on("error", () => {})
  stream.on("response", (fields) => {
    status = fields[":status"]
    headers = texts(fields)
  })
  stream.on("trailers", (fields) => {
    trailers = texts(fields)
  })
  // The server has ended its side. The stream closes only after the client has ended its side too.
  stream.on("end", () => stream.end())
  stream.on("data", (chunk: Buffer) => {
    left = left.length === 0 ? chunk : Buffer.concat([left, chunk])
    while (left.length >= 5 && left.length >= 5 + left.readUInt32BE(1)) {
      const end = 5 + left.readUInt32BE(1)
      for (const answer of fromBinary(PipelineResponseSchema, left.subarray(5, end)).answers) onAnswer(answer)
      left = left.subarray(end)
    }
  })
  const closed = new Promise<Outcome>((resolve) => {
    session.on("close", () => resolve({ end: "closed" }))
    stream.on("close", () => {
      session.close()
      if (status === undefined) resolve({ end: "closed" })
      else resolve({ end: "answered", status, headers: headers ?? {}, trailers: trailers ?? {}, body: Buffer.alloc(0) })
    })
  })
  const inTime = async <T>(waited: Promise<T>): Promise<T | Outcome> => {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<Outcome>((resolve) => {
      timer = setTimeout(() => {
        session.destroy()
        resolve({ end: "hung" })
      }, patienceMs)
    })
    const outcome = await Promise.race([waited, closed, late])
    clearTimeout(timer)
    return outcome
  }
  const begun = new Promise<Outcome>((resolve) => stream.once("response", () => resolve({ end: "closed" })))
  const opened = await inTime(begun)
  return {
    write: ({ bytes }) => void stream.write(envelope(bytes)),
    finish: () => void stream.end(),
    cancel: () => stream.close(http2.constants.NGHTTP2_CANCEL),
    until: async (waited) => (opened.end === "hung" ? opened : await inTime(waited)),
  }
}

function texts(fields: object): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]))
}
