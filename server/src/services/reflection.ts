import type {
  ServerReflectionRequest,
  ServerReflectionResponseSchema,
  ServerReflection as ServerReflectionV1,
} from "@authwire/proto/reflection/v1"
import type { ServerReflection as ServerReflectionV1Alpha } from "@authwire/proto/reflection/v1alpha"
import { fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import {
  type DescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt"
import { Code } from "@connectrpc/connect"
import type { Implementation } from "../rpc/call.js"

type Answer = Extract<
  NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"]>,
  { case: string }
>

/**
 * Creates grpc.reflection, v1 and v1alpha, which differ only in their package. Serves the files of `descriptorSet` (a
 * google.protobuf.FileDescriptorSet with comments and options, as `buf build` writes it), and lists `serviceNames`.
 * Comments of imported files from other projects are left out, because they would be two thirds of most responses.
 */
export function reflectionService(deps: {
  descriptorSet: Uint8Array
  serviceNames: readonly string[]
}): Implementation<typeof ServerReflectionV1> & Implementation<typeof ServerReflectionV1Alpha> {
  const files = fromBinary(FileDescriptorSetSchema, deps.descriptorSet).file
  const index = indexFiles(files)

  // Any client may call this, and a file has many imports. So each file is encoded, and its imports are found, once.
  const encoded = new Map(
    files.map((file) => [file, toBinary(FileDescriptorProtoSchema, withoutForeignComments(file))]),
  )
  const closures = new Map<FileDescriptorProto, Answer>()

  const withImports = (file: FileDescriptorProto | undefined, what: string): Answer => {
    if (file === undefined) return notFound(what)
    const known = closures.get(file)
    if (known !== undefined) return known
    const closure = new Set<FileDescriptorProto>()
    const visit = (one: FileDescriptorProto | undefined): void => {
      if (one === undefined || closure.has(one)) return
      closure.add(one)
      for (const name of one.dependency) visit(index.byName.get(name))
    }
    visit(file)
    const fileDescriptorProto = [...closure].flatMap((one) => encoded.get(one) ?? [])
    const found: Answer = { case: "fileDescriptorResponse", value: { fileDescriptorProto } }
    closures.set(file, found)
    return found
  }

  const answer = (request: ServerReflectionRequest["messageRequest"]): Answer => {
    switch (request.case) {
      case "listServices":
        return { case: "listServicesResponse", value: { service: deps.serviceNames.map((name) => ({ name })) } }
      case "fileByFilename":
        return withImports(index.byName.get(request.value), "file")
      case "fileContainingSymbol":
        return withImports(index.bySymbol.get(request.value.replace(/^\./, "")), "symbol")
      case "fileContainingExtension": {
        const { containingType, extensionNumber } = request.value
        return withImports(index.extensions.get(containingType.replace(/^\./, ""))?.get(extensionNumber), "extension")
      }
      case "allExtensionNumbersOfType": {
        const type = request.value.replace(/^\./, "")
        const numbers = index.extensions.get(type)
        if (numbers === undefined && !index.bySymbol.has(type)) return notFound("type")
        return {
          case: "allExtensionNumbersResponse",
          value: { baseTypeName: type, extensionNumber: [...(numbers?.keys() ?? [])] },
        }
      }
      default:
        return {
          case: "errorResponse",
          value: { errorCode: Code.InvalidArgument, errorMessage: "message_request: is missing" },
        }
    }
  }

  return {
    async *serverReflectionInfo(requests: AsyncIterable<{ host: string; messageRequest: unknown }>) {
      for await (const request of requests) {
        yield {
          validHost: request.host,
          originalRequest: request as never,
          messageResponse: answer(request.messageRequest as ServerReflectionRequest["messageRequest"]) as never,
        }
      }
    },
  }
}

function notFound(what: string): Answer {
  return { case: "errorResponse", value: { errorCode: Code.NotFound, errorMessage: `no such ${what}` } }
}

interface Index {
  byName: Map<string, FileDescriptorProto>
  /** By the full name of a message, field, enum, value, service, method or extension. */
  bySymbol: Map<string, FileDescriptorProto>
  /** By the full name of the extended message, then by number. */
  extensions: Map<string, Map<number, FileDescriptorProto>>
}

function indexFiles(files: readonly FileDescriptorProto[]): Index {
  const index: Index = { byName: new Map(), bySymbol: new Map(), extensions: new Map() }
  for (const file of files) {
    const symbol = (...parts: string[]): string => {
      const name = parts.filter((part) => part !== "").join(".")
      index.bySymbol.set(name, file)
      return name
    }
    const extension = (scope: string, { name, extendee, number }: DescriptorProto["extension"][number]): void => {
      symbol(scope, name)
      const type = extendee.replace(/^\./, "")
      const numbers = index.extensions.get(type) ?? new Map<number, FileDescriptorProto>()
      index.extensions.set(type, numbers.set(number, file))
    }
    const enumeration = (scope: string, { name, value }: DescriptorProto["enumType"][number]): void => {
      symbol(scope, name)
      // The values of an enum are siblings of its name.
      for (const one of value) symbol(scope, one.name)
    }
    const message = (scope: string, type: DescriptorProto): void => {
      const name = symbol(scope, type.name)
      for (const one of [...type.field, ...type.oneofDecl]) symbol(name, one.name)
      for (const one of type.enumType) enumeration(name, one)
      for (const one of type.nestedType) message(name, one)
      for (const one of type.extension) extension(name, one)
    }
    index.byName.set(file.name, file)
    for (const one of file.messageType) message(file.package, one)
    for (const one of file.enumType) enumeration(file.package, one)
    for (const one of file.extension) extension(file.package, one)
    for (const one of file.service) {
      const name = symbol(file.package, one.name)
      for (const method of one.method) symbol(name, method.name)
    }
  }
  return index
}

function withoutForeignComments(file: FileDescriptorProto): FileDescriptorProto {
  if (/^(authwire|envoy)\./.test(file.package)) return file
  const { sourceCodeInfo: _, ...rest } = file
  return rest
}
