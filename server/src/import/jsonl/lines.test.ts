import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "@jest/globals"
import { linesOf, type Place } from "./lines.js"

const folder = mkdtempSync(join(tmpdir(), "authwire-lines-"))
afterAll(() => rmSync(folder, { recursive: true }))

function fileOf(content: string | Buffer): string {
  const path = join(folder, "users.json")
  writeFileSync(path, content)
  return path
}

async function objectsOf(path: string, from?: Place) {
  const lines = []
  for await (const { size: _, ...one } of linesOf(path, from)) lines.push(one)
  return lines
}

test("lines have their number, and can be read from the place after each of them", async () => {
  // Longer than what is read at once, and with characters of several bytes.
  const long = "ü🦊".repeat(40_000)
  const path = fileOf(`{"n":1}\r\n\n{"n":2,"long":"${long}"}\n \n{"n":3}`)
  const all = await objectsOf(path)
  expect(all.map(({ object, line }) => [object.n, line])).toEqual([
    [1, 1],
    [2, 3],
    [3, 5],
  ])
  expect(all[1]?.object.long).toBe(long)
  for (const [index, place] of all.entries()) expect(await objectsOf(path, place)).toEqual(all.slice(index + 1))
  expect(await objectsOf(fileOf(""))).toEqual([])
  // Editors of Windows begin a file with a byte-order mark.
  expect(await objectsOf(fileOf('\ufeff{"n":1}\n'))).toMatchObject([{ object: { n: 1 } }])
})

test.each([
  ["text that is not JSON", '{"n":1}\n{"password":"hunter2"', 2, "is not a JSON object"],
  ["a list", '[{"n":1},\n{"n":2}]', 1, "is not a JSON object (mongoexport: without --jsonArray and --pretty)"],
  ["null", "null\n", 1, "is not a JSON object"],
  ["bytes that are no text", Buffer.from('{"n":1}\n\n{"n":"\xff"}\n', "latin1"), 3, "is not valid UTF-8"],
])(
  "a line with %s is an error that names the file and the line, and nothing of its text",
  async (_, content, line, rule) => {
    const path = fileOf(content)
    await expect(objectsOf(path)).rejects.toThrow(`--url: ${path}: line ${line} ${rule}`)
    await expect(objectsOf(path)).rejects.not.toThrow("hunter2")
  },
)

test("a line without an end is not read to its end", async () => {
  const path = fileOf('{"n":1}\n')
  truncateSync(path, 2 ** 32)
  await expect(objectsOf(path)).rejects.toThrow(`${path}: line 2 is longer than 16777216 bytes`)
})

test("a file that cannot be read is named", async () => {
  await expect(objectsOf(join(folder, "no"))).rejects.toThrow(`--url: cannot read ${folder}/no (ENOENT)`)
})

test("what is not a regular file is named, and not waited for", async () => {
  const pipe = join(folder, "pipe.json")
  execFileSync("mkfifo", [pipe])
  for (const path of [pipe, folder, "/dev/zero"])
    await expect(objectsOf(path)).rejects.toThrow(`--url: ${path} is not a regular file`)
})
