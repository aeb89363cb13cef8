import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "@jest/globals"
import { StartError } from "../errors/start-error.js"
import { Digests } from "./digests.js"
import { digestOf } from "./item.js"

const limits = [0n, 1n, -1n, 2n ** 63n - 1n, -(2n ** 63n)]
const digestsOf = (count: number, prefix: string) => Array.from({ length: count }, (_, n) => digestOf(`${prefix}${n}`))

let digests: Digests
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "authwire-digests-"))
  digests = new Digests(folder)
})
afterEach(() => {
  digests.close()
  rmSync(folder, { recursive: true, force: true })
})

test("a set knows the keys that were added, and those that were added more than once", () => {
  const added = [...digestsOf(5_000, "added"), ...limits]
  const repeated = [...added.slice(100, 103), ...limits]
  const set = digests.addresses
  for (let start = 0; start < added.length; start += 60) set.add(added.slice(start, start + 60))
  set.add(repeated)
  expect(added.filter((digest) => !set.has(digest))).toEqual([])
  expect([...digestsOf(1_000, "other"), 2n].filter((digest) => set.has(digest))).toEqual([])
  expect(set.repeated()).toEqual(new Set(repeated))
  expect(digests.owners.has(0n)).toBe(false)
  expect(digests.owners.repeated().size).toBe(0)
})

test("the temporary file has no name, though the process may end at any time", () => {
  digests.addresses.add(digestsOf(10, "added"))
  expect(digests.addresses.has(digestOf("added1"))).toBe(true)
  expect(readdirSync(folder)).toEqual([])
})

test("a folder that cannot be written is named by its variable", () => {
  const open = () => new Digests(join(folder, "missing"))
  expect(open).toThrow(StartError)
  expect(open).toThrow("cannot use a temporary file (")
  expect(open).toThrow("ENOENT")
  expect(open).toThrow("set TMPDIR to another folder")
})
