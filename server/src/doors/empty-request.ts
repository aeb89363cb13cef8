/**
 * An empty request in place of one that is not to be read, in the form that its content type asks for; and its headers,
 * as they then must be.
 */
export function emptyRequest(header: Headers): { header: Headers; body: AsyncIterable<Uint8Array> } {
  const type = header.get("content-type")?.split(";", 1)[0]?.trim() ?? ""
  const message = Buffer.from(/json$/.test(type) ? "{}" : "")
  const isEnveloped = /^application\/(grpc|connect\+)/.test(type)
  const headers = new Headers(header)
  for (const name of ["content-length", "content-encoding", "grpc-encoding", "connect-content-encoding"]) {
    headers.delete(name)
  }
  return { header: headers, body: once(isEnveloped ? envelope(message) : message) }
}

/** A flag and a length of four bytes, then the message. */
function envelope(message: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes
}
