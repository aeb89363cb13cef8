import { type PipelineAnswer, PipelineRequestSchema, PipelineResponseSchema, PipelineService } from "@authwire/proto"
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { Client, credentials, type StatusObject } from "@grpc/grpc-js"

/** A stream of the pipeline without the logic of the client: it sends and reads exactly what the test asks for. */
export interface RawPipeline {
  /** Resolves when the service has accepted the stream. */
  readonly opened: Promise<unknown>
  /** Sends a message. Returns false if the next one should wait for space in the buffer. */
  send(request: MessageInitShape<typeof PipelineRequestSchema>): boolean
  /** Resolves when there is space in the buffer. */
  space(): Promise<void>
  /** Starts to read, and passes on each answer. */
  read(onAnswer: (answer: PipelineAnswer) => void): void
  /** Closes the sending side. */
  finish(): void
  /** Resets the stream. */
  cancel(): void
  /** How the stream ended. It resolves only if the stream was read to its end. */
  readonly ended: Promise<StatusObject>
}

/** Opens such streams over one connection. */
export function rawPipelines(url: string) {
  const client = new Client(new URL(url).host, credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
  })
  const path = `/${PipelineService.typeName}/${PipelineService.method.pipeline.name}`
  const asIs = (bytes: Buffer) => bytes
  return {
    open(): RawPipeline {
      const stream = client.makeBidiStreamRequest<Buffer, Buffer>(path, asIs, asIs)
      stream.on("error", () => {})
      let hand = (_: PipelineAnswer) => {}
      const opened = new Promise<void>((resolve) => {
        stream.once("data", () => {
          // Paused only now, because grpc-js buffers everything that arrives until a listener has begun to read.
          stream.pause()
          stream.on("data", (bytes) => {
            for (const answer of fromBinary(PipelineResponseSchema, bytes).answers) hand(answer)
          })
          resolve()
        })
      })
      return {
        opened,
        send: (request) =>
          stream.write(Buffer.from(toBinary(PipelineRequestSchema, create(PipelineRequestSchema, request)))),
        space: () => new Promise((resolve) => stream.once("drain", resolve)),
        read(onAnswer) {
          hand = onAnswer
          opened.then(() => stream.resume())
        },
        finish: () => stream.end(),
        cancel: () => stream.cancel(),
        ended: new Promise((resolve) => stream.once("status", resolve)),
      }
    },
    close: () => client.close(),
  }
}
