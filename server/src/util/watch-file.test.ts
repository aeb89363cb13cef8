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
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals"
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
  const { paths = [path("one"), path("other")], everyMs = 5 } = options
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

describe("files are passed on", () => {
  test("when one is overwritten, and when one is replaced", async () => {
    const reported = watchPair()
    writeOver("one", "c")
    await until(() => reported.length === 1)
    replace("other", "d")
    await until(() => reported.length === 2)
    expect(reported).toEqual(["cb", "cd"])
  })

  test("when a link gets another target, as in a volume of Kubernetes", async () => {
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
})

describe("a problem is reported once", () => {
  test("for a rejected text, for a missing file, and for the next problem", async () => {
    const reported = watchPair()
    replace("one", "!")
    await until(() => reported.length === 1)
    rmSync(path("other"))
    await until(() => reported.length === 2)
    replace("other", "?")
    await until(() => reported.length === 3)
    replace("one", "c")
    await until(() => reported.length === 4)
    expect(reported).toEqual(["not !b", "ENOENT", "not !?", "c?"])
  })

  test("and again when it recurs", async () => {
    const reported = watchPair()
    for (const [index, good] of ["c", "d"].entries()) {
      replace("one", "!")
      await until(() => reported.length === 2 * index + 1)
      replace("one", good)
      await until(() => reported.length === 2 * index + 2)
    }
    expect(reported).toEqual(["not !b", "cb", "not !b", "db"])
  })

  test("after a second attempt, and not if the files match by then", async () => {
    const reported = watchPair({ everyMs: 100 })
    replace("one", "!")
    await delay(150)
    replace("one", "c")
    await until(() => reported.length === 1)
    expect(reported).toEqual(["cb"])
  })
})

test("nothing is reported after it is stopped", async () => {
  const stopped = watchPair()
  watch?.stop()
  const reported = watchPair({ everyMs: 20 })
  replace("one", "c")
  await until(() => reported.length === 1)
  expect(stopped).toEqual([])
})
