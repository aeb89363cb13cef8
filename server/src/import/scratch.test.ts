import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals"
import { StartError } from "../errors/start-error.js"
import { Scratch } from "./scratch.js"

const mib = 2 ** 20

describe("Scratch", () => {
  let folder: string
  let scratch: Scratch
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "authwire-scratch-"))
    scratch = new Scratch(folder)
  })
  afterEach(() => {
    scratch.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test("gives back what stands in the file, in memory, and in both", () => {
    const pieces = [mib / 2, mib / 2, 1, 3 * mib, 0, 5, mib - 5, 7].map((length, n) => Buffer.alloc(length, n + 1))
    const positions = pieces.map((piece) => scratch.append(piece))
    const all = Buffer.concat(pieces)
    expect(positions).toEqual(pieces.map((_, n) => Buffer.concat(pieces.slice(0, n)).length))
    for (const start of [0, 1, mib - 1, mib, mib + 1, 4 * mib, all.length - mib - 9, all.length - 8, all.length]) {
      for (const length of [0, 1, 9, mib, all.length - start]) {
        const into = Buffer.alloc(Math.min(length, all.length - start))
        scratch.read(start, into)
        expect(into.equals(all.subarray(start, start + into.length))).toBe(true)
      }
    }
  })

  test("leaves no name behind, though the process may end at any time", () => {
    scratch.append(Buffer.alloc(2 * mib))
    scratch.append(Buffer.alloc(2 * mib))
    expect(readdirSync(folder)).toEqual([])
  })

  test("needs no folder for little, and says which one it needs for more", () => {
    rmSync(folder, { recursive: true })
    const position = scratch.append(Buffer.from("little"))
    const into = Buffer.alloc(6)
    scratch.read(position, into)
    expect(into.toString()).toBe("little")
    const more = () => scratch.append(Buffer.alloc(2 * mib))
    expect(more).toThrow(StartError)
    expect(more).toThrow(`cannot write a temporary file in ${folder} (`)
    expect(more).toThrow("ENOENT")
    expect(more).toThrow("set TMPDIR to another folder")
  })
})
