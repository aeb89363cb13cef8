import { type DescMethod, type DescService, fromBinary, type Message, toBinary } from "@bufbuild/protobuf"
import { type handleUnaryCall, Server, ServerCredentials, type ServiceDefinition } from "@grpc/grpc-js"

/** Handlers of grpc-js by method name, over the messages of the schema. */
export type Handlers = Record<string, handleUnaryCall<Message, Message>>

/** Starts a server of grpc-js with one service on a free port of the loopback. */
export async function grpcServer(service: DescService, handlers: Handlers) {
  const server = new Server()
  const methods = service.methods.filter(({ name }) => Object.hasOwn(handlers, name))
  server.addService(Object.fromEntries(methods.map((method) => [method.name, definition(method)])), handlers)
  const credentials = ServerCredentials.createInsecure()
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", credentials, (error, bound) => (error ? reject(error) : resolve(bound)))
  })
  return { port, url: `http://127.0.0.1:${port}`, stop: () => server.forceShutdown() }
}

function definition(method: DescMethod): ServiceDefinition[string] {
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: (message: Message) => Buffer.from(toBinary(method.input, message)),
    requestDeserialize: (bytes: Buffer) => fromBinary(method.input, bytes),
    responseSerialize: (message: Message) => Buffer.from(toBinary(method.output, message)),
    responseDeserialize: (bytes: Buffer) => fromBinary(method.output, bytes),
  }
}
