import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test } from "@jest/globals"
import { readMapping } from "./mapping.js"

function read(text: string | Buffer) {
  const folder = mkdtempSync(join(tmpdir(), "authwire-mapping-"))
  try {
    writeFileSync(join(folder, "mapping.json"), text)
    return readMapping(join(folder, "mapping.json"))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test("the mapping of docs/moving.md is one", () => {
  const page = readFileSync(new URL("../../../../docs/moving.md", import.meta.url), "utf8")
  const [, json = ""] = /```json\n(.*?)```/s.exec(page) ?? []
  expect(read(json)).toEqual(JSON.parse(json))
})

test("a file that is not UTF-8 is rejected: it would name other columns", () => {
  const bytes = Buffer.from('{"ignore": {"users": ["J\xffrg"]}}', "latin1")
  expect(() => read(bytes)).toThrow(/mapping\.json must be in UTF-8$/)
})

test.each([
  ["{", /it is not JSON/],
  ['{"tables": {"user": "x"}}', /tables: .*user/],
  ['{"tables": {"users": null}}', /tables\.users: /],
  ['{"columns": {"users": {"nick": "x"}}}', /columns\.users: .*nick/],
  ['{"columns": {"users": {"created": {"constant": "x"}}}}', /users\.created: must be the name of a column/],
  ['{"columns": {"sessions": {"created": "x"}}}', /columns\.sessions: .*created/],
  ['{"ignore": {"users": "x"}}', /ignore\.users: .*array/],
  [
    '{"columns": {"users": {"email": {"column": "x", "whenInvalid": "omit"}}}}',
    /users\.email: cannot have whenInvalid/,
  ],
  ['{"columns": {"accounts": {"type": {"column": "x", "whenInvalid": "omit"}}}}', /accounts\.type: cannot have when/],
  ['{"columns": {"users": {"name": {"column": "x", "values": {"y": "keep"}}}}}', /users\.name: cannot have values/],
  ['{"columns": {"accounts": {"type": {"column": "x", "values": {"y": "z"}}}}}', /accounts\.type: must be the name/],
  ['{"private": {"sessions": ["x"]}}', /private: .*sessions/],
  ['{"timezone": "Europe/Vienna"}', /timezone: must be an offset/],
])("%s is rejected by its path and the rule", (text, message) => {
  expect(() => read(text)).toThrow(message)
})
