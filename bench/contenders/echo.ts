import { GetSessionAndUserRequestSchema, GetSessionAndUserResponseSchema } from "@authwire/proto"
import { create, toBinary } from "@bufbuild/protobuf"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { Client, credentials, type ServiceDefinition } from "@grpc/grpc-js"
import { dataExpires, email, sessionToken, userId } from "../data/keys.ts"
import { type Contender, type Endpoints, required } from "./contender.ts"

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

/** A floor: a unary call of grpc-js with the bytes of GetSessionAndUser, without any further work. */
export function echoUnary({ grpcUrl }: Endpoints): Contender {
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

/** A floor: the same bytes in one bidirectional stream. The answers come in the order of the requests. */
export function echoStream({ grpcUrl }: Endpoints): Contender {
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

/** Returns a contender of which only the time matters: its answer is not decoded. */
function floor(ask: () => Promise<unknown>, close: () => Promise<void>): Contender {
  return { adapter: { getSessionAndUser: async () => (await ask()) as never }, close }
}

/** Returns the request for one session of the test data. */
function questionBytes(session: number): Buffer {
  const message = create(GetSessionAndUserRequestSchema, { sessionToken: sessionToken(session) })
  return Buffer.from(toBinary(GetSessionAndUserRequestSchema, message))
}

/** Returns an encoded response to such a request. */
export function answerBytes(): Buffer {
  const user = 54_321
  const message = create(GetSessionAndUserResponseSchema, {
    session: { sessionToken: sessionToken(user * 2), userId: userId(user), expires: timestampFromDate(dataExpires) },
    user: {
      id: userId(user),
      email: email(user),
      name: `Ada Lovelace ${user}`,
      image: `https://avatars.example.com/u/${user}?v=4`,
    },
  })
  return Buffer.from(toBinary(GetSessionAndUserResponseSchema, message))
}
