import type {
  ServerReflectionRequest,
  ServerReflectionResponseSchema,
  ServerReflection as ServerReflectionV1,
} from "@authwire/proto/reflection/v1"
import type { ServerReflection as ServerReflectionV1Alpha } from "@authwire/proto/reflection/v1alpha"
import {
  createFileRegistry,
  type DescEnum,
  type DescExtension,
  type DescFile,
  type DescMessage,
  type DescService,
  type FileRegistry,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf"
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"
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
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, deps.descriptorSet))
  const files = [...registry.files]
  const symbols = symbolsOf(registry)
  // Any client may call this, and a file has many imports. So each file is encoded, and its imports are found, once.
  const encoded = new Map(
    files.map((file) => [file, toBinary(FileDescriptorProtoSchema, withoutForeignComments(file.proto))]),
  )
  const answers = new Map(
    files.map((file): [DescFile, Answer] => {
      const fileDescriptorProto = [...withImports(file)].flatMap((one) => encoded.get(one) ?? [])
      return [file, { case: "fileDescriptorResponse", value: { fileDescriptorProto } }]
    }),
  )
  const answerWith = (file: DescFile | undefined, what: string): Answer => (file && answers.get(file)) ?? notFound(what)

  const answer = (request: ServerReflectionRequest["messageRequest"]): Answer => {
    switch (request.case) {
      case "listServices":
        return { case: "listServicesResponse", value: { service: deps.serviceNames.map((name) => ({ name })) } }
      case "fileByFilename":
        return answerWith(registry.getFile(request.value), "file")
      case "fileContainingSymbol":
        return answerWith(symbols.get(withoutDot(request.value)), "symbol")
      case "fileContainingExtension": {
        const { containingType, extensionNumber } = request.value
        const type = registry.getMessage(withoutDot(containingType))
        return answerWith(type && registry.getExtensionFor(type, extensionNumber)?.file, "extension")
      }
      case "allExtensionNumbersOfType": {
        const type = registry.getMessage(withoutDot(request.value))
        if (type === undefined) return notFound("type")
        const extensions = [...registry].filter((one) => one.kind === "extension" && one.extendee === type)
        const extensionNumber = extensions.map((one) => (one as DescExtension).number)
        return { case: "allExtensionNumbersResponse", value: { baseTypeName: type.typeName, extensionNumber } }
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

/** Returns the file of each message, field, enum, value, service, method and extension, by its full name. */
function symbolsOf(registry: FileRegistry): Map<string, DescFile> {
  const symbols = new Map<string, DescFile>()
  for (const type of registry) {
    symbols.set(type.typeName, type.file)
    // The values of an enum are siblings of its name.
    const scope = type.kind === "enum" ? type.typeName.slice(0, -type.name.length) : `${type.typeName}.`
    for (const { name } of membersOf(type)) symbols.set(scope + name, type.file)
  }
  return symbols
}

function membersOf(type: DescMessage | DescEnum | DescExtension | DescService): readonly { name: string }[] {
  if (type.kind === "message") return [...type.fields, ...type.oneofs]
  if (type.kind === "enum") return type.values
  return type.kind === "service" ? type.methods : []
}

function withImports(file: DescFile, found = new Set<DescFile>()): Set<DescFile> {
  if (!found.has(file)) {
    found.add(file)
    for (const one of file.dependencies) withImports(one, found)
  }
  return found
}

/** Removes the dot in front of a full name, which is optional. */
function withoutDot(name: string): string {
  return name.replace(/^\./, "")
}

function withoutForeignComments(file: FileDescriptorProto): FileDescriptorProto {
  if (/^(authwire|envoy)\./.test(file.package)) return file
  const { sourceCodeInfo: _, ...rest } = file
  return rest
}
