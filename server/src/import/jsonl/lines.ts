import { isUtf8 } from "node:buffer"
import { createReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import { StartError, systemCodeOf } from "../../errors/start-error.js"
import { isObject, parsedJson } from "../../util/json.js"
import { utf8 } from "../../util/utf8.js"

/** The maximum size of a line, in bytes: that of a document of MongoDB. */
const maxLineBytes = 16 * 1024 * 1024

/** A place between two lines of a file. */
export interface Place {
  /** The number of lines before it. */
  line: number
  /** The number of bytes before it. */
  byte: number
}

export const start: Place = { line: 0, byte: 0 }

/** A line of a file, and the place after it. */
export interface Line extends Place {
  object: Record<string, unknown>
  /** The size in bytes. */
  size: number
}

/** Reads the JSON objects of a file, one on each line, from a place on. Empty lines are skipped. Throws StartError. */
export async function* linesOf(path: string, { line, byte }: Place = start): AsyncGenerator<Line> {
  let parts: Buffer[] = []
  let size = 0
  /** Ends a line. Returns undefined for an empty one. */
  function ended(bytes: Buffer, terminator: number): Line | undefined {
    const text = Buffer.concat([...parts, bytes])
    parts = []
    size = 0
    line++
    byte += text.length + terminator
    if (text.every((one) => one === 0x20 || one === 0x0d)) return undefined
    if (!isUtf8(text)) throw lineError(path, line, "is not valid UTF-8")
    const object = parsedJson(utf8.decode(text))
    if (!isObject(object))
      throw lineError(path, line, "is not a JSON object (mongoexport: without --jsonArray and --pretty)")
    return { line, byte, object, size: text.length }
  }
  try {
    // It is read several times, and a pipe without a process that writes would never end.
    if (!(await stat(path)).isFile()) throw new StartError(`--url: ${path} is not a regular file`)
    for await (const chunk of createReadStream(path, { start: byte }) as AsyncIterable<Buffer>) {
      let begin = 0
      for (let end = chunk.indexOf("\n"); end >= 0; end = chunk.indexOf("\n", begin)) {
        const one = ended(chunk.subarray(begin, end), 1)
        if (one !== undefined) yield one
        begin = end + 1
      }
      parts.push(chunk.subarray(begin))
      size += chunk.length - begin
      if (size > maxLineBytes) throw lineError(path, line + 1, `is longer than ${maxLineBytes} bytes`)
    }
    const last = ended(Buffer.alloc(0), 0)
    if (last !== undefined) yield last
  } catch (error) {
    if (error instanceof StartError) throw error
    throw new StartError(`--url: cannot read ${path} (${systemCodeOf(error)})`, { cause: error })
  }
}

/** Returns the error for a line, without its text, which may contain secrets. The first line has the number 1. */
export function lineError(path: string, line: number, rule: string): StartError {
  return new StartError(`--url: ${path}: line ${line} ${rule}`)
}
