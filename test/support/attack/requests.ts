import { PipelineService, UserService } from "@authwire/proto"
import { Health, HealthCheckRequestSchema } from "@authwire/proto/health"
import { ServerReflection, ServerReflectionRequestSchema } from "@authwire/proto/reflection/v1"
import { create, type DescMethod, toBinary } from "@bufbuild/protobuf"

/** The path of a method: `/authwire.v1.UserService/GetUser`. */
export const pathOf = ({ parent, name }: DescMethod) => `/${parent.typeName}/${name}`

export const paths = {
  getUser: pathOf(UserService.method.getUser),
  updateUser: pathOf(UserService.method.updateUser),
  pipeline: pathOf(PipelineService.method.pipeline),
  check: pathOf(Health.method.check),
  watch: pathOf(Health.method.watch),
  reflection: pathOf(ServerReflection.method.serverReflectionInfo),
} as const

/** The headers of a call over HTTP/2, with or without an API key. */
export function header(path: string, options: { key?: string | undefined; type?: string } = {}) {
  const { key, type = "application/grpc" } = options
  return {
    ":method": "POST",
    ":path": path,
    "content-type": type,
    te: "trailers",
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
  }
}

/** The prefix of an uncompressed gRPC message of `length` bytes. */
export function prefix(length: number): Buffer {
  const bytes = Buffer.alloc(5)
  bytes.writeUInt32BE(length, 1)
  return bytes
}

/** A whole gRPC message, with its prefix. */
export const enveloped = (message: Uint8Array) => Buffer.concat([prefix(message.length), message])

/** A request of 30 bytes whose response has 300 KiB: a file of the schema and everything that it imports. */
export const reflectionRequest = symbolRequest("authwire.v1.UserService")

/** A request for the file of a symbol. */
export function symbolRequest(symbol: string): Buffer {
  const messageRequest = { case: "fileContainingSymbol", value: symbol } as const
  return enveloped(toBinary(ServerReflectionRequestSchema, create(ServerReflectionRequestSchema, { messageRequest })))
}

/** A request for a user. */
export function getUserRequest(id: string): Buffer {
  const { input } = UserService.method.getUser
  return enveloped(toBinary(input, create(input, { id })))
}

/** A request for the health of a service. */
export function checkRequest(service: string): Buffer {
  return enveloped(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service })))
}
