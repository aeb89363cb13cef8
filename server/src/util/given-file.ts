import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs"
import { InvalidValueError } from "../errors/invalid-value-error.js"

/** The largest file that an option may name, in bytes, and the time between two looks at a pipe, in milliseconds. */
const maxBytes = 16 * 1024 * 1024
const pauseMs = 10

// Without O_NONBLOCK, to open a pipe would wait until there is a process that writes.
const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY

/**
 * Reads a file that an option names, at the start of a command. It may also be a pipe, such as that of `<(command)` in a shell, which
 * can be read only once. Throws InvalidValueError if it does not end, or is too large, and the errors of reading.
 *
 * @param longestMs The longest time until a pipe has ended, in milliseconds.
 */
export function readGivenFile(path: string, longestMs = 10_000): Buffer {
  return withFile(path, (file, found) => readToEnd(file, found, longestMs))
}

/** Reads a file while calls are served, so that nothing may wait. Throws InvalidValueError also if it is not a regular file. */
export function readRegularFile(path: string): Buffer {
  return withFile(path, (file, found) => {
    if (!found.isFile()) throw new InvalidValueError("must be a regular file")
    return readToEnd(file, found, 0)
  })
}

function withFile(path: string, read: (file: number, found: Stats) => Buffer): Buffer {
  const file = openSync(path, flags)
  try {
    return read(file, fstatSync(file))
  } finally {
    closeSync(file)
  }
}

function readToEnd(file: number, found: Stats, longestMs: number): Buffer {
  const end = found.isFile() ? Number.POSITIVE_INFINITY : performance.now() + longestMs
  const parts: Buffer[] = []
  let bytes = 0
  for (;;) {
    const part = readPart(file)
    // A named pipe has no bytes before the process that writes has opened it.
    if (part?.length === 0 && (bytes > 0 || !found.isFIFO())) return Buffer.concat(parts)
    if (part !== undefined) parts.push(part)
    bytes += part?.length ?? 0
    if (bytes > maxBytes) throw new InvalidValueError(`must have at most ${maxBytes} bytes`)
    if (performance.now() >= end) throw new InvalidValueError(`has not ended within ${longestMs / 1000} seconds`)
    if (!part?.length) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs)
  }
}

/** Returns the next bytes, none at the end; undefined if a pipe has none yet. */
function readPart(file: number): Buffer | undefined {
  const buffer = Buffer.allocUnsafe(64 * 1024)
  try {
    return buffer.subarray(0, readSync(file, buffer))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return undefined
    throw error
  }
}
