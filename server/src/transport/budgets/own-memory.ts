import type { Readable } from "node:stream"

/**
 * Copies a chunk that is a small part of a larger piece of memory. Node reads up to 64 KiB of a connection at once, and
 * hands out its frames as views: whoever keeps one byte keeps all of the 64 KiB.
 */
export function inOwnMemory(chunk: Uint8Array): Uint8Array {
  if (2 * chunk.length >= chunk.buffer.byteLength) return chunk
  const copy = Buffer.allocUnsafeSlow(chunk.length)
  copy.set(chunk)
  return copy
}

/** Has a stream hand out its chunks in their own memory, to whoever reads it. */
export function pushInOwnMemory(stream: Readable): void {
  const { push } = stream
  stream.push = (chunk: Uint8Array | null) => push.call(stream, chunk === null ? null : inOwnMemory(chunk))
}
