/**
 * Copies a chunk that is a small part of a larger buffer. Node reads up to 64 KiB of a connection at once and returns
 * views of it as frames, so that one retained byte keeps all 64 KiB in memory.
 */
export function inOwnMemory(chunk: Uint8Array): Uint8Array {
  if (2 * chunk.length >= chunk.buffer.byteLength) return chunk
  const copy = Buffer.allocUnsafeSlow(chunk.length)
  copy.set(chunk)
  return copy
}
