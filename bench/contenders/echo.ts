import { Client, credentials, type ServiceDefinition } from "@grpc/grpc-js"
import { type Contender, type Places, required } from "./contender.ts"
import { questionBytes } from "./session-messages.ts"

const bytes = { serialize: (message: Buffer) => message, deserialize: (message: Buffer) => message }
const plain = {
  requestSerialize: bytes.serialize,
  requestDeserialize: bytes.deserialize,
  responseSerialize: bytes.serialize,
  responseDeserialize: bytes.deserialize,
}

export const echoMethods = {
  unary: { path: "/bench.Echo/Unary", requestStream: false, responseStream: false, ...plain },
  stream: { path: "/bench.Echo/Stream", requestStream: true, responseStream: true, ...plain },
} satisfies ServiceDefinition

/** A floor: a unary call of grpc-js with the bytes of GetSessionAndUser, and nothing else. */
export function echoUnary({ grpcUrl }: Places): Contender {
  const client = connect(grpcUrl)
  const question = questionBytes(0)
  const ask = () =>
    new Promise<Buffer | undefined>((resolve, reject) => {
      client.makeUnaryRequest(echoMethods.unary.path, bytes.serialize, bytes.deserialize, question, (error, answer) =>
        error ? reject(error) : resolve(answer),
      )
    })
  return floor(ask, async () => client.close())
}

/** A floor: the same bytes in one bidirectional stream. Answers come in the order of the questions. */
export function echoStream({ grpcUrl }: Places): Contender {
  const client = connect(grpcUrl)
  const question = questionBytes(0)
  const stream = client.makeBidiStreamRequest(echoMethods.stream.path, bytes.serialize, bytes.deserialize)
  const waiting: ((answer: Buffer) => void)[] = []
  stream.on("data", (answer: Buffer) => waiting.shift()?.(answer))
  stream.on("error", () => {})
  const ask = () =>
    new Promise<Buffer>((resolve) => {
      waiting.push(resolve)
      stream.write(question)
    })
  return floor(ask, async () => {
    stream.end()
    client.close()
  })
}

function connect(url: string | undefined): Client {
  return new Client(new URL(required(url)).host, credentials.createInsecure(), { "grpc.enable_channelz": 0 })
}

/** Only its time matters: what it answers is nobody's session. */
function floor(ask: () => Promise<unknown>, close: () => Promise<void>): Contender {
  return { adapter: { getSessionAndUser: async () => (await ask()) as never }, close }
}
