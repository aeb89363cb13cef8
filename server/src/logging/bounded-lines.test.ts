import { spawn } from "node:child_process"
import { once } from "node:events"
import { constants, openSync } from "node:fs"
import { Socket } from "node:net"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { unreadPipe } from "@authwire/test-support/machine/unread-pipe.js"
import { until } from "@authwire/test-support/until.js"
import { describe, expect, test } from "@jest/globals"
import { boundedLines, maxWaitingBytes } from "./bounded-lines.js"
import { fileSink, type LineSink, streamSink } from "./line-sink.js"

const later = endsAfterEach()
const sinks: [name: string, make: (fd: number) => LineSink][] = [
  ["as a stream", (fd) => streamSink(new Socket({ fd, readable: false, writable: true }))],
  ["as a file", fileSink],
]

/** Returns bounded lines to a pipe that is read on request, and what `exit` runs when the process exits. */
function linesTo(make: (fd: number) => LineSink) {
  const pipe = unreadPipe()
  later(async () => pipe.close())
  const sink = make(openSync(pipe.path, constants.O_WRONLY | constants.O_NONBLOCK))
  const writes: string[] = []
  const failures: (Error | null | undefined)[] = []
  const losses: number[] = []
  const recorded: LineSink = {
    ...sink,
    write(text, done) {
      writes.push(text)
      sink.write(text, (error) => {
        if (error) failures.push(error)
        done(error)
      })
    },
  }
  const lines = boundedLines(recorded, {
    onLost: (count) => {
      losses.push(count)
      lines.write("lost\n")
    },
  })
  const exit = process.listeners("exit").at(-1)
  return { pipe, writes, failures, losses, lines, exit: () => exit?.(0) }
}

describe.each(sinks)("boundedLines, to a pipe %s", (_, make) => {
  const setUp = () => linesTo(make)

  test("the lines of one turn are written together, in their order, at its end", async () => {
    const { pipe, writes, lines } = setUp()
    for (const line of ["a\n", "b\n", "c\n"]) lines.write(line)
    expect(writes).toEqual([])
    await until(() => pipe.read() === "a\nb\nc\n")
    lines.write("d\n")
    await until(() => pipe.read() === "a\nb\nc\nd\n")
    expect(writes).toEqual(["a\nb\nc\n", "d\n"])
  })

  test("an urgent line is written at once, together with the lines before it", () => {
    const { writes, lines } = setUp()
    lines.write("a\n")
    lines.write("b\n", true)
    expect(writes).toEqual(["a\nb\n"])
  })

  test("no write exceeds the atomic size of a pipe, except for a single longer line, and no line is split or lost", async () => {
    const { pipe, writes, lines } = setUp()
    const all = Array.from({ length: 500 }, (_, index) => `${index} ${"é".repeat((index * 37) % 300)}\n`)
    all.splice(250, 0, `${"x".repeat(100_000)}\n`)
    for (const line of all) lines.write(line)
    await until(() => pipe.read() === all.join(""))
    expect(writes.filter((text) => Buffer.byteLength(text) > 4096).every((text) => text === all[250])).toBe(true)
    for (const text of writes) expect(text).toMatch(/\n$/)
    expect(new Set(writes).size).toBeLessThan(70)
  })

  test("while the sink is not read, up to 1 MiB is buffered; further lines are lost and counted in their place", async () => {
    const { pipe, losses, lines } = setUp()
    const count = 20_000
    const line = (index: number) => `${String(index).padStart(99)}\n`
    for (let index = 0; index < count; index++) lines.write(line(index))
    expect(lines.isBlocked).toBe(true)
    lines.keep("kept\n")
    await until(() => {
      pipe.read()
      return losses.length > 0
    })
    expect(lines.isBlocked).toBe(false)
    lines.write("after\n")
    await until(() => pipe.read().endsWith("after\n"))
    const written = Math.floor((1024 * 1024) / 100)
    expect(losses).toEqual([count - written])
    const expected = Array.from({ length: written }, (_, index) => line(index)).join("")
    expect(pipe.read()).toBe(`${expected}kept\nlost\nafter\n`)
  })
})

test("a line that is larger than the buffer is lost and reported, and later lines are written", async () => {
  const { pipe, losses, lines } = linesTo(fileSink)
  lines.write(`${"x".repeat(maxWaitingBytes)}\n`)
  expect(losses).toEqual([1])
  lines.write("after\n")
  await until(() => pipe.read() === "lost\nafter\n")
})

test("a process with nothing else to do waits a moment for lines that are to be tried again", async () => {
  const pipe = unreadPipe()
  later(async () => pipe.close())
  const program = `
    import { boundedLines } from ${JSON.stringify(new URL("../../dist/logging/bounded-lines.js", import.meta.url).href)}
    import { fileSink } from ${JSON.stringify(new URL("../../dist/logging/line-sink.js", import.meta.url).href)}
    import { spawn } from "node:child_process"
import { once } from "node:events"
import { constants, openSync } from "node:fs"
    const fd = openSync(${JSON.stringify(pipe.path)}, constants.O_WRONLY | constants.O_NONBLOCK)
    const lines = boundedLines(fileSink(fd), { onLost() {} })
    for (const letter of ["a", "b", "c"]) lines.write(letter.repeat(40_000) + "\\n")`
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: "inherit" })
  const exited = once(child, "exit")
  // The pipe is full, and the process has nothing to do but to try again.
  await until(() => pipe.read().length > 40_000)
  await until(() => pipe.read().length === 3 * 40_001)
  expect(await exited).toEqual([0, null])
  expect(pipe.read()).toBe(["a", "b", "c"].map((letter) => `${letter.repeat(40_000)}\n`).join(""))
})

test("when the process exits, a file also gets what could not be written before and was to be tried again", async () => {
  const { pipe, failures, lines, exit } = linesTo(fileSink)
  // More than a pipe holds. The second line is written in part, because it is longer than a pipe takes at once.
  const all = ["a", "b", "c"].map((letter) => `${letter.repeat(40_000)}\n`)
  for (const line of all) lines.write(line)
  await until(() => failures.length > 0)
  expect(pipe.read()).not.toBe(all.join(""))
  // In the same turn, before the next try.
  exit()
  expect(pipe.read()).toBe(all.join(""))
})
