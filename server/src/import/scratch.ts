import { randomUUID } from "node:crypto"
import { closeSync, openSync, readSync, rmSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { StartError } from "../errors/start-error.js"
import { systemCodeOf } from "../errors/system-code.js"

/** The maximum number of bytes that are kept in memory before they are written to the file. */
const bufferSize = 2 ** 20

/**
 * Stores bytes outside of memory, in a temporary file that is unlinked when it is opened. Nothing of it remains,
 * however the process ends. Small contents stay in memory without a file. The methods throw StartError if the file
 * cannot be written or read.
 */
export class Scratch {
  readonly #folder: string
  #file: number | undefined
  #inFile = 0
  /** The bytes after those in the file. */
  #buffer = Buffer.alloc(0)
  #inBuffer = 0

  constructor(folder = tmpdir()) {
    this.#folder = folder
  }

  /** Appends bytes, and returns the position at which they begin. */
  append(bytes: Uint8Array): number {
    const position = this.#inFile + this.#inBuffer
    const needed = this.#inBuffer + bytes.length
    if (needed > bufferSize) {
      this.#write(this.#buffer.subarray(0, this.#inBuffer))
      this.#write(bytes)
      this.#inBuffer = 0
      return position
    }
    if (needed > this.#buffer.length) {
      const larger = Buffer.alloc(Math.min(bufferSize, Math.max(needed, this.#buffer.length * 2)))
      larger.set(this.#buffer)
      this.#buffer = larger
    }
    this.#buffer.set(bytes, this.#inBuffer)
    this.#inBuffer = needed
    return position
  }

  /** Fills `into` with the bytes that begin at `position`. They must have been appended before. */
  read(position: number, into: Uint8Array): void {
    const fromFile = Math.max(0, Math.min(into.length, this.#inFile - position))
    if (fromFile > 0) {
      this.#attempt("read", () => readFully(this.#file as number, into.subarray(0, fromFile), position))
    }
    const start = position + fromFile - this.#inFile
    into.set(this.#buffer.subarray(start, start + into.length - fromFile), fromFile)
  }

  /** Closes the file and discards the bytes. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
    this.#buffer = Buffer.alloc(0)
  }

  #write(bytes: Uint8Array): void {
    this.#attempt("write", () => {
      this.#file ??= openNameless(this.#folder)
      writeFully(this.#file, bytes, this.#inFile)
    })
    this.#inFile += bytes.length
  }

  #attempt(what: "read" | "write", work: () => void): void {
    try {
      work()
    } catch (error) {
      throw new StartError(
        `cannot ${what} a temporary file in ${this.#folder} (${systemCodeOf(error)}): set TMPDIR to another folder`,
        { cause: error },
      )
    }
  }
}

function openNameless(folder: string): number {
  const path = join(folder, `authwire-import-${randomUUID()}`)
  // Only the owner may read the file, because digests of addresses can be guessed.
  const file = openSync(path, "wx+", 0o600)
  rmSync(path)
  return file
}

/** Fills `into` with the bytes that begin at `position`. Throws if the file is too short. */
export function readFully(file: number, into: Uint8Array, position: number): void {
  for (let done = 0; done < into.length; ) {
    const count = readSync(file, into, done, into.length - done, position + done)
    if (count === 0) throw new Error("the file is too short")
    done += count
  }
}

export function writeFully(file: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(file, bytes, done, bytes.length - done, position + done)
  }
}

/** Returns a view of the same memory as bytes. */
export function bytesOf({ buffer, byteOffset, byteLength }: BigUint64Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}
