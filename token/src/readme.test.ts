import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { promisify } from "node:util"
import { describe, expect, test } from "@jest/globals"
import * as tokenModule from "./index.js"

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8")
const blocks = (language: string) =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms"))].map((match) => match[1] as string)

describe("the README of the package", () => {
  test.each([
    ["first", 0, "Ada\n5f2c\n"],
    ["rotation", 1, "5f2c\n"],
    ["next-auth 4", 2, "5f2c\n"],
    ["cache", 3, "5f2c\n"],
  ])("example %s runs", async (_, index, expected) => {
    const entry = JSON.stringify(new URL("../dist/index.js", import.meta.url))
    const script = blocks("ts")[index]?.replaceAll('"@authwire/token"', entry) as string
    const args = ["--input-type=module-typescript", "--no-warnings", "-e", script]
    const env = { AUTH_SECRET: "a secret of the example" }
    expect((await promisify(execFile)(process.execPath, args, { env })).stdout).toBe(expected)
  })

  test("has no other examples", () => {
    expect(blocks("ts")).toHaveLength(4)
  })

  test("lists every error", () => {
    const rows = [...readme.matchAll(/^\| `([A-Z_]+)` +\| `(\w+)` +\|/gm)].map(([, code, name]) => [code, name])
    const errors = Object.entries(tokenModule).filter(
      ([name, one]) => /^[A-Z]/.test(name) && name !== "TokenError" && one,
    )
    const named = errors.map(([name, one]) => {
      const error = new (one as new () => tokenModule.TokenError)()
      expect(error.name).toBe(name)
      return [error.code, name]
    })
    expect(rows.toSorted()).toEqual(named.toSorted())
  })

  test("lists every field of the vectors", () => {
    const vectors = JSON.parse(readFileSync(new URL("../vectors.json", import.meta.url), "utf8"))
    const fields = new Set([...vectors.valid, ...vectors.refused, ...vectors.requests].flatMap(Object.keys))
    const table = readme.slice(readme.search(/^\| field +\|/m))
    const named = [...table.matchAll(/^\| ((?:`\w+`(?:, )?)+) +\|/gm)].flatMap(
      ([, cell = ""]) => cell.match(/\w+/g) ?? [],
    )
    expect(named.toSorted()).toEqual([...fields].toSorted())
  })
})
