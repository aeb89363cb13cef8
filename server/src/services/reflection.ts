import type {
  ServerReflectionRequest,
  ServerReflectionResponseSchema,
  ServerReflection as ServerReflectionV1,
} from "@authwire/proto/reflection/v1"
import type { ServerReflection as ServerReflectionV1Alpha } from "@authwire/proto/reflection/v1alpha"
import {
  createRegistry,
  type DescEnum,
  type DescExtension,
  type DescFile,
  type DescMessage,
  type DescService,
  type MessageInitShape,
  type Registry,
} from "@bufbuild/protobuf"
import { BinaryReader } from "@bufbuild/protobuf/wire"
import { Code } from "@connectrpc/connect"
import type { Implementation } from "../rpc/call.js"

type Answer = Extract<
  NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"]>,
  { case: string }
>

/**
 * Creates grpc.reflection, v1 and v1alpha, which differ only in their package. Serves `files` and their imports as they
 * are in `descriptorSet` (a google.protobuf.FileDescriptorSet with comments and options, which contains them all), and
 * lists `serviceNames`.
 */
export function reflectionService(deps: {
  descriptorSet: Uint8Array
  files: readonly DescFile[]
  serviceNames: readonly string[]
}): Implementation<typeof ServerReflectionV1> & Implementation<typeof ServerReflectionV1Alpha> {
  const files = [...withImports(deps.files)]
  const registry = createRegistry(...files)
  const symbols = symbolsOf(registry)
  const encoded = encodedFiles(deps.descriptorSet)
  // Any client may call this, and a file has many imports. So the imports of each file are found once.
  const answers = new Map(
    files.map((file): [name: string | undefined, Answer] => {
      const fileDescriptorProto = [...withImports([file])].flatMap(({ proto }) => encoded.get(proto.name) ?? [])
      return [file.proto.name, { case: "fileDescriptorResponse", value: { fileDescriptorProto } }]
    }),
  )
  const answerWith = (file: DescFile | undefined, what: string) => answers.get(file?.proto.name) ?? notFound(what)

  const answer = (request: ServerReflectionRequest["messageRequest"]): Answer => {
    switch (request.case) {
      case "listServices":
        return { case: "listServicesResponse", value: { service: deps.serviceNames.map((name) => ({ name })) } }
      case "fileByFilename":
        return answers.get(request.value) ?? notFound("file")
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
function symbolsOf(registry: Registry): Map<string, DescFile> {
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

function withImports(files: readonly DescFile[], found = new Set<DescFile>()): Set<DescFile> {
  for (const file of files) {
    if (found.has(file)) continue
    found.add(file)
    withImports(file.dependencies, found)
  }
  return found
}

/** Returns each file of a google.protobuf.FileDescriptorSet as it is encoded there, by its name. */
function encodedFiles(descriptorSet: Uint8Array): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>()
  const set = new BinaryReader(descriptorSet)
  while (set.pos < set.len) {
    set.tag()
    const bytes = set.bytes()
    // The first field of a file is its name.
    const file = new BinaryReader(bytes)
    file.tag()
    files.set(file.string(), bytes)
  }
  return files
}

/** Removes the dot in front of a full name, which is optional. */
function withoutDot(name: string): string {
  return name.replace(/^\./, "")
}
