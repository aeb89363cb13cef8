import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { until } from "@authwire/test-support/until.js"
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals"
import { type WatchOptions, watchFiles } from "./watch-file.js"

interface Pair {
  one: string
  other: string | undefined
}

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
function watchPair(options: Partial<WatchOptions<Pair>> = {}): string[] {
  const reported: string[] = []
  watch = watchFiles<Pair>({
    paths: { one: path("one"), other: path("other") },
    texts: { one: "a", other: "b" },
    take({ one, other }) {
      if (`${one}${other}`.includes("!")) throw new Error(`not ${one}${other}`)
      reported.push(`${one}${other}`)
    },
    fail: (error, file) => reported.push(file === undefined ? (error as Error).message : `no ${file}`),
    everyMs: 5,
    ...options,
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
    const paths = { one: path("current/file"), other: undefined }
    const reported = watchPair({ paths, texts: { one: "a", other: undefined } })
    symlinkSync("v2", path("next"))
    renameSync(path("next"), path("current"))
    await until(() => reported.length === 1)
    expect(reported).toEqual(["cundefined"])
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
    expect(reported).toEqual(["not !b", "no other", "not !?", "c?"])
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

  test("after the requested number of consecutive reads, and not if it disappears before", async () => {
    let reads = 0
    const reported = watchPair({
      patience: 3,
      take({ one }) {
        reads++
        // The text that the first read finds is replaced before the second.
        if (one === "!") replace("one", "?")
        throw new Error(one)
      },
    })
    replace("one", "!")
    await until(() => reported.length === 1)
    expect(reported).toEqual(["?"])
    expect(reads).toBe(4)
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
