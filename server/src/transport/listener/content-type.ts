import type { DescMethod } from "@bufbuild/protobuf"

/** The content types of gRPC in binary format. The gRPC listener takes no others. */
export const grpcTypes: readonly string[] = ["application/grpc", "application/grpc+proto"]

const grpcTypesOverHttp = [
  ...grpcTypes,
  "application/grpc+json",
  "application/grpc-web",
  "application/grpc-web+proto",
  "application/grpc-web+json",
]

/** Returns the content types that the HTTP listener takes for a method. Those of Connect come first. */
export function typesOverHttp({ methodKind }: DescMethod): readonly string[] {
  const prefix = methodKind === "unary" ? "application/" : "application/connect+"
  return [`${prefix}json`, `${prefix}proto`, ...grpcTypesOverHttp]
}

/** Returns whether a media type is one of the protocol of Connect, for any method. */
export function isOfConnect(type: string | undefined): boolean {
  return /^application\/(connect\+)?(json|proto)$/.test(type ?? "")
}

/**
 * Returns the media type in a `content-type` header, in lower case and without its parameters. None of them matters,
 * except for a charset: undefined if it is not UTF-8, or if there is no header.
 */
export function mediaType(header: string | undefined): string | undefined {
  const [type, ...parameters] = (header ?? "").split(";").map((part) => part.trim().toLowerCase())
  const isForeign = parameters.some((one) => one.startsWith("charset=") && !/^charset="?utf-?8"?$/.test(one))
  return isForeign ? undefined : type || undefined
}

/** Returns the first value of a header. */
export function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

// No message is compressed, neither of a request nor of an answer: the listeners accept identity only.

/** The error of a request with any other encoding: UNIMPLEMENTED. The encoding is not quoted, because it may contain anything. */
export const unknownCompression = "this compression is not supported: the only accepted encoding is identity"

/** The error of a message with a flag, such as that of a compressed one, if the header names no encoding: INTERNAL. */
export const flaggedMessage = "a message has a flag, which none may have, because no compression is supported"

/** Returns the header field that tells the client of an answer which encodings are accepted. */
export function acceptedEncoding(contentType: string): [name: string, value: string] {
  if (contentType.startsWith("application/grpc")) return ["grpc-accept-encoding", "identity"]
  if (contentType.startsWith("application/connect+")) return ["connect-accept-encoding", "identity"]
  return ["accept-encoding", "identity"]
}
