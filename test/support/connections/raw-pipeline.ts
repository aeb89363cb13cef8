import { type PipelineAnswer, PipelineRequestSchema, PipelineResponseSchema, PipelineService } from "@authwire/proto"
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { Client, credentials, type StatusObject } from "@grpc/grpc-js"

/** A stream of the pipeline without the client that looks after it: it says and reads what it is told to. */
export interface RawPipeline {
  /** Resolves when the service carries the stream. */
  readonly opened: Promise<unknown>
  /** Sends a message. False if the next one should wait until there is space. */
  send(request: MessageInitShape<typeof PipelineRequestSchema>): boolean
  /** Resolves when there is space. */
  space(): Promise<void>
  /** Begins to read, and hands on what comes. */
  read(onAnswer: (answer: PipelineAnswer) => void): void
  /** Says that no more will be sent. */
  finish(): void
  /** Resets the stream. */
  cancel(): void
  /** How the stream ended; only what is read to its end has one. */
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
          // Not before: until somebody has begun to read, grpc-js takes in whatever comes.
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
