import { execFileSync } from "node:child_process"
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { until } from "@authwire/test-support/until.js"
import { afterEach, beforeEach, expect, test } from "@jest/globals"
import { watchFiles } from "./watch-file.js"

let folder: string
let watch: { stop(): void } | undefined
const path = (name: string) => join(folder, name)
/** Replaces a file with a new one. */
const replace = (name: string, text: string) => {
  writeFileSync(path("new"), text)
  renameSync(path("new"), path(name))
}
/** Overwrites the beginning of a file. */
const writeOver = (name: string, text: string) => {
  const file = openSync(path(name), "r+")
  writeSync(file, text)
  closeSync(file)
}
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "authwire-watch-"))
  replace("one", "a")
  replace("other", "b")
})
afterEach(() => {
  watch?.stop()
  rmSync(folder, { recursive: true })
})

/** Watches two files that contain `a` and `b`, and rejects texts with a `!`. Returns the list of what is reported. */
function watchPair(options: { paths?: string[]; everyMs?: number } = {}): string[] {
  const reported: string[] = []
  const { paths = [path("one"), path("other")], everyMs = 50 } = options
  const read = () => paths.map((one) => readFileSync(one, "utf8")).join("")
  watch = watchFiles({
    paths,
    read,
    used: read(),
    take(texts) {
      if (texts.includes("!")) throw new Error(`not ${texts}`)
      reported.push(texts)
    },
    fail: (error) => reported.push((error as NodeJS.ErrnoException).code ?? (error as Error).message),
    everyMs,
  })
  return reported
}

test("files are passed on when one is overwritten, and when one is replaced, until it is stopped", async () => {
  const reported = watchPair()
  writeOver("one", "c")
  await until(() => reported.length === 1)
  replace("other", "d")
  await until(() => reported.length === 2)
  watch?.stop()
  const later = watchPair({ everyMs: 20 })
  replace("one", "e")
  await until(() => later.length === 1)
  expect(reported).toEqual(["cb", "cd"])
})

test("files are passed on when a link gets another target, as in a volume of Kubernetes", async () => {
  for (const [version, text] of Object.entries({ v1: "a", v2: "c" })) {
    mkdirSync(path(version))
    replace(`${version}/file`, text)
  }
  symlinkSync("v1", path("current"))
  const reported = watchPair({ paths: [path("current/file")] })
  symlinkSync("v2", path("next"))
  renameSync(path("next"), path("current"))
  await until(() => reported.length === 1)
  expect(reported).toEqual(["c"])
})

test("each problem is reported once: a rejected text, a missing file, the next problem, and one that recurs", async () => {
  const reported = watchPair()
  const steps = [
    () => replace("one", "!"),
    () => rmSync(path("other")),
    () => replace("other", "?"),
    () => replace("one", "c"),
    () => replace("one", "!"),
  ]
  for (const [index, step] of steps.entries()) {
    step()
    await until(() => reported.length === index + 1)
  }
  expect(reported).toEqual(["not !b", "ENOENT", "not !?", "c?", "not !?"])
})

test("a problem is reported after a second attempt, and not if the files match by then", async () => {
  const reported = watchPair({ everyMs: 100 })
  replace("one", "!")
  await delay(150)
  replace("one", "c")
  await until(() => reported.length === 1)
  expect(reported).toEqual(["cb"])
})

test("a pipe, which can be read only once, is not watched", async () => {
  execFileSync("mkfifo", [path("pipe")])
  const reads: string[] = []
  const watched = ["pipe", "one"].map((name) =>
    watchFiles({
      ...{ paths: [path(name)], used: "", everyMs: 10, take: () => {}, fail: () => {} },
      read: () => String(reads.push(name)),
    }),
  )
  await until(async () => reads.includes("one"))
  expect(reads).not.toContain("pipe")
  for (const one of watched) one.stop()
})
