// No message is compressed, neither of a request nor of an answer: the listeners accept identity only.

/** The error of a request with any other encoding: UNIMPLEMENTED. The encoding is not quoted, because it may contain anything. */
export const unknownCompression = "this compression is not supported: the only accepted encoding is identity"

/** The error of a message whose flag says that it is compressed, without an encoding in the header: INTERNAL. */
export const unnamedCompression = "the request has a compressed message, but its header names no compression"

/** Returns the header field that tells the client of an answer which encodings are accepted. */
export function acceptedEncoding(contentType: string): [name: string, value: string] {
  if (contentType.startsWith("application/grpc")) return ["grpc-accept-encoding", "identity"]
  if (contentType.startsWith("application/connect+")) return ["connect-accept-encoding", "identity"]
  return ["accept-encoding", "identity"]
}
