import { describe, expect, test } from "@jest/globals"
import { pino } from "pino"
import { batchedLines } from "./batched-lines.js"

const turn = () => new Promise((resolve) => setImmediate(resolve))

function setUp() {
  const written: string[] = []
  return { written, lines: batchedLines({ write: (text) => void written.push(text) }) }
}

describe("batchedLines", () => {
  test("the lines of one turn are written together, in their order, at its end", async () => {
    const { written, lines } = setUp()
    for (const line of ["a\n", "b\n", "c\n"]) lines.write(line)
    expect(written).toEqual([])
    await turn()
    expect(written).toEqual(["a\nb\nc\n"])
    lines.write("d\n")
    await turn()
    expect(written).toEqual(["a\nb\nc\n", "d\n"])
  })

  test("a warning is written at once, with what waited before it", () => {
    const { written, lines } = setUp()
    lines.write("a\n")
    lines.lastLevel = 40
    lines.write("b\n")
    expect(written).toEqual(["a\nb\n"])
  })

  test("pino tells it the level of each line", () => {
    const { written, lines } = setUp()
    const log = pino({ base: null, timestamp: false }, lines)
    log.info("one")
    expect(written).toEqual([])
    log.error("two")
    expect(written.join("")).toMatch(/one.*\n.*two.*\n$/)
    log.info("three")
    expect(written.join("")).not.toContain("three")
  })

  test("no write has more bytes than a pipe takes whole, unless a line has, and no line is cut or lost", async () => {
    const { written, lines } = setUp()
    const all = Array.from({ length: 500 }, (_, index) => `${index} ${"é".repeat((index * 37) % 300)}\n`)
    all.splice(250, 0, `${"x".repeat(10_000)}\n`)
    for (const line of all) lines.write(line)
    await turn()
    expect(written.join("")).toBe(all.join(""))
    expect(written.filter((text) => Buffer.byteLength(text) > 4096)).toEqual([all[250]])
    for (const text of written) expect(text).toMatch(/\n$/)
    expect(written.length).toBeLessThan(60)
  })
})
