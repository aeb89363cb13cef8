import { spawn } from "node:child_process"
import { once } from "node:events"
import { constants, openSync } from "node:fs"
import { setImmediate } from "node:timers/promises"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { unreadPipe } from "@authwire/test-support/machine/unread-pipe.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"
import { boundedLines, maxWaitingBytes } from "./bounded-lines.js"

const later = endsAfterEach()

/** Returns bounded lines to a pipe that is read on request, and what `exit` runs when the process exits. */
function setUp() {
  const pipe = unreadPipe()
  later(async () => pipe.close())
  const losses: number[] = []
  const lines = boundedLines(openSync(pipe.path, constants.O_WRONLY | constants.O_NONBLOCK), {
    onLost: (count) => {
      losses.push(count)
      lines.write("lost\n")
    },
  })
  const exit = process.listeners("exit").at(-1)
  return { pipe, losses, lines, exit: () => exit?.(0) }
}

test("the lines of one turn are written in their order at its end", async () => {
  const { pipe, lines } = setUp()
  for (const line of ["a\n", "b\n", "c\n"]) lines.write(line)
  expect(pipe.read()).toBe("")
  await until(() => pipe.read() === "a\nb\nc\n")
  lines.write("d\n")
  await until(() => pipe.read() === "a\nb\nc\nd\n")
})

test("an urgent line is written at once, together with the lines before it", () => {
  const { pipe, lines } = setUp()
  lines.write("a\n")
  lines.write("b\n", true)
  expect(pipe.read()).toBe("a\nb\n")
})

test("lines of two writers to one pipe are not split", async () => {
  const { pipe, lines } = setUp()
  const other = boundedLines(openSync(pipe.path, constants.O_WRONLY | constants.O_NONBLOCK), { onLost() {} })
  const all = Array.from({ length: 2_000 }, (_, index) => `${index} ${"é".repeat((index * 37) % 300)}\n`)
  for (const [index, line] of all.entries()) (index % 2 === 0 ? lines : other).write(line)
  await until(() => pipe.read().length === all.join("").length)
  const written = pipe.read().match(/.*\n/g) ?? []
  const [even, odd] = [0, 1].map((rest) => all.filter((_, index) => index % 2 === rest))
  expect(written.filter((line) => Number.parseInt(line, 10) % 2 === 0)).toEqual(even)
  expect(written.filter((line) => Number.parseInt(line, 10) % 2 === 1)).toEqual(odd)
})

test("while the pipe is not read, up to 1 MiB is buffered; further lines are lost and counted in their place", async () => {
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

test("a line that is larger than the buffer is lost and reported, and later lines are written", async () => {
  const { pipe, losses, lines } = setUp()
  lines.write(`${"x".repeat(maxWaitingBytes)}\n`)
  expect(losses).toEqual([1])
  lines.write("after\n")
  await until(() => pipe.read() === "lost\nafter\n")
})

test("a process with nothing else to do waits for lines that are to be tried again", async () => {
  const pipe = unreadPipe()
  later(async () => pipe.close())
  const program = `
    import { boundedLines } from ${JSON.stringify(new URL("../../dist/logging/bounded-lines.js", import.meta.url).href)}
    import { constants, openSync } from "node:fs"
    const fd = openSync(${JSON.stringify(pipe.path)}, constants.O_WRONLY | constants.O_NONBLOCK)
    const lines = boundedLines(fd, { onLost() {} })
    for (const letter of ["a", "b", "c"]) lines.write(letter.repeat(40_000) + "\\n")`
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: "inherit" })
  const exited = once(child, "exit")
  // The pipe is full, and the process has nothing to do but to try again.
  await until(() => pipe.read().length > 40_000)
  await until(() => pipe.read().length === 3 * 40_001)
  expect(await exited).toEqual([0, null])
  expect(pipe.read()).toBe(["a", "b", "c"].map((letter) => `${letter.repeat(40_000)}\n`).join(""))
})

test("when the process exits, everything is written that the pipe accepts", async () => {
  const { pipe, lines, exit } = setUp()
  // More than a pipe holds. The second line is written in part, because it is longer than a pipe takes at once.
  const all = ["a", "b", "c"].map((letter) => `${letter.repeat(40_000)}\n`)
  for (const line of all) lines.write(line)
  // They are written in an immediate that precedes this one, until the pipe is full. A timer could precede both.
  await setImmediate()
  expect(pipe.read().length).toBeLessThan(all.join("").length)
  // In the same turn, before the next try.
  exit()
  expect(pipe.read()).toBe(all.join(""))
})
