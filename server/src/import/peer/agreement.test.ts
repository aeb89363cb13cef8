import { hash } from "node:crypto"
import { expect, test } from "@jest/globals"
import { disagreement } from "./agreement.js"
import { jsonReader } from "./values.js"

const columnsOf = (fields: readonly string[]) =>
  fields.map((field) => ({
    name: field,
    field,
    type: "text",
    maxLength: undefined,
    folds: false,
    json: jsonReader(""),
  }))

const tokenHash = hash("sha256", "t", "buffer")
const date = new Date("2020-02-03T04:05:06Z")

test.each<[Record<string, unknown>, Record<string, unknown>]>([
  [
    { id: 7, email: "a@b.c", name: null },
    { id: "7", email: "a@b.c" },
  ],
  [{ id: Buffer.from("é") }, { id: "é" }],
  [
    { token_type: "Bearer", expires_at: "5" },
    { token_type: "bearer", expires_at: 5 },
  ],
  [
    { sessionToken: "t", expires: 1580702706 },
    { tokenHash, expires: date },
  ],
  [{ emailVerified: 0 }, {}],
  [{ emailVerified: "1580702706000" }, { emailVerified: date }],
  [{ emailVerified: "2020-02-03 04:05:06" }, { emailVerified: date }],
  [{ credentialBackedUp: "f" }, { credentialBackedUp: false }],
])("%j agrees with %j", (cells, row) => {
  expect(disagreement(columnsOf(Object.keys(cells)), Object.values(cells), row)).toBeUndefined()
})

test.each<[Record<string, unknown>, Record<string, unknown>]>([
  [{ email: "ceo@x.org\0.evil.example" }, { email: "ceo@x.org" }],
  [
    { email: "a", name: "b" },
    { email: "b", name: "a" },
  ],
  [{ name: null }, { name: "" }],
  [{ name: "Ada" }, {}],
  [{ emailVerified: 0 }, { emailVerified: new Date(0) }],
  [{ emailVerified: false }, { emailVerified: date }],
  [{ expires: "20240102" }, { expires: new Date("2024-01-02") }],
  [{ sessionToken: "t\0x" }, { tokenHash }],
  [{ expires_at: 5 }, { expires_at: 6 }],
  [{ credentialBackedUp: 0 }, { credentialBackedUp: true }],
])("%j disagrees with %j", (cells, row) => {
  const [field] = Object.keys(cells)
  expect(disagreement(columnsOf(Object.keys(cells)), Object.values(cells), row)).toBe(field)
})
