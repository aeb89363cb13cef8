/** The length of the prefix of a message in gRPC, gRPC-Web and Connect's streams, in bytes: a flag, and a length of four bytes. */
export const prefixBytes = 5

/** Returns a message with its prefix. */
export function withPrefix(flags: number, message: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(prefixBytes + message.length)
  bytes[0] = flags
  bytes.writeUInt32BE(message.length, 1)
  bytes.set(message, prefixBytes)
  return bytes
}

/** Returns the length of a message from its prefix, which the bytes begin with. */
export function lengthInPrefix(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset, prefixBytes).getUint32(1)
}
