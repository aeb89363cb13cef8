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
/** Puts a new file in the place of one. */
const replace = (name: string, text: string) => {
  writeFileSync(path("new"), text)
  renameSync(path("new"), path(name))
}
/** Writes over the beginning of a file. */
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

/** Watches two files that hold `a` and `b`. What it hears, texts with a `!` are not taken. */
function watchPair(options: Partial<WatchOptions<Pair>> = {}): string[] {
  const heard: string[] = []
  watch = watchFiles<Pair>({
    paths: { one: path("one"), other: path("other") },
    texts: { one: "a", other: "b" },
    take({ one, other }) {
      if (`${one}${other}`.includes("!")) throw new Error(`not ${one}${other}`)
      heard.push(`${one}${other}`)
    },
    fail: (error, file) => heard.push(file === undefined ? (error as Error).message : `no ${file}`),
    everyMs: 5,
    ...options,
  })
  return heard
}

describe("files are handed on", () => {
  test("when one is written over, and when another is put in its place", async () => {
    const heard = watchPair()
    writeOver("one", "c")
    await until(() => heard.length === 1)
    replace("other", "d")
    await until(() => heard.length === 2)
    expect(heard).toEqual(["cb", "cd"])
  })

  test("when a link leads elsewhere, as in a volume of Kubernetes", async () => {
    for (const [version, text] of Object.entries({ v1: "a", v2: "c" })) {
      mkdirSync(path(version))
      replace(`${version}/file`, text)
    }
    symlinkSync("v1", path("current"))
    const paths = { one: path("current/file"), other: undefined }
    const heard = watchPair({ paths, texts: { one: "a", other: undefined } })
    symlinkSync("v2", path("next"))
    renameSync(path("next"), path("current"))
    await until(() => heard.length === 1)
    expect(heard).toEqual(["cundefined"])
  })
})

describe("a problem is told once", () => {
  test("of a text that is not taken, of a file that is not there, and of what follows", async () => {
    const heard = watchPair()
    replace("one", "!")
    await until(() => heard.length === 1)
    rmSync(path("other"))
    await until(() => heard.length === 2)
    replace("other", "?")
    await until(() => heard.length === 3)
    replace("one", "c")
    await until(() => heard.length === 4)
    expect(heard).toEqual(["not !b", "no other", "not !?", "c?"])
  })

  test("and again when it comes back", async () => {
    const heard = watchPair()
    for (const [index, good] of ["c", "d"].entries()) {
      replace("one", "!")
      await until(() => heard.length === 2 * index + 1)
      replace("one", good)
      await until(() => heard.length === 2 * index + 2)
    }
    expect(heard).toEqual(["not !b", "cb", "not !b", "db"])
  })

  test("when as many looks in a row have found it as are asked for, and not when it has gone before", async () => {
    let looks = 0
    const heard = watchPair({
      patience: 3,
      take({ one }) {
        looks++
        // What the first look finds has gone at the second.
        if (one === "!") replace("one", "?")
        throw new Error(one)
      },
    })
    replace("one", "!")
    await until(() => heard.length === 1)
    expect(heard).toEqual(["?"])
    expect(looks).toBe(4)
  })
})

test("who has stopped it hears nothing more", async () => {
  const stopped = watchPair()
  watch?.stop()
  const heard = watchPair({ everyMs: 20 })
  replace("one", "c")
  await until(() => heard.length === 1)
  expect(stopped).toEqual([])
})
