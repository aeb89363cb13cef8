import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "@jest/globals"
import { readGivenFile, readRegularFile } from "./given-file.js"

let folder: string
let pipe: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "authwire-given-"))
  pipe = join(folder, "pipe")
  execFileSync("mkfifo", [pipe])
})
afterEach(() => rmSync(folder, { recursive: true }))

test("a file is read, and a pipe to its end, whenever its writer comes", async () => {
  const file = join(folder, "file")
  writeFileSync(file, "text")
  expect(readGivenFile(file).toString()).toBe("text")
  expect(readRegularFile(file).toString()).toBe("text")
  const long = 200_000
  const writer = spawn("sh", ["-c", `(printf begin; head -c ${long} /dev/zero; printf end) > ${pipe}`])
  const text = readGivenFile(pipe).toString()
  expect([text.length, text.slice(0, 5), text.slice(-3)]).toEqual([long + 8, "begin", "end"])
  await once(writer, "exit")
})

test("nothing is read for ever, and no pipe while calls are served", () => {
  expect(() => readGivenFile(pipe, 50)).toThrow("has not ended within 0.05 seconds")
  const dripping = spawn("sh", ["-c", `while :; do printf x; sleep 0.01; done > ${pipe}`])
  expect(() => readGivenFile(pipe, 200)).toThrow("has not ended within 0.2 seconds")
  dripping.kill()
  expect(() => readGivenFile("/dev/zero")).toThrow("must have at most 16777216 bytes")
  expect(readGivenFile("/dev/null")).toHaveLength(0)
  for (const path of [pipe, "/dev/zero", folder]) expect(() => readRegularFile(path)).toThrow("must be a regular file")
  expect(() => readGivenFile(folder)).toThrow("EISDIR")
})
