import { expect, test } from "@jest/globals"
import { extendedValue } from "./extended-json.js"

const time = new Date("2026-01-02T03:04:05.678Z")
const bytes = Buffer.from("bytes")

test.each<[unknown, unknown]>([
  [{ $oid: "65a000000000000000000001" }, "65a000000000000000000001"],
  [{ $date: "2026-01-02T03:04:05.678Z" }, time],
  [{ $date: { $numberLong: String(time.getTime()) } }, time],
  // Before 1970, also in the relaxed form.
  [{ $date: { $numberLong: "-1000" } }, new Date(-1000)],
  [{ $numberInt: "-7" }, -7],
  [{ $numberLong: "1893456000" }, 1_893_456_000],
  [{ $numberLong: "9007199254740993" }, "9007199254740993"],
  [{ $numberDouble: "1.5" }, 1.5],
  [{ $numberDecimal: "0.10" }, "0.10"],
  [{ $binary: { base64: bytes.toString("base64"), subType: "00" } }, bytes],
  [{ $uuid: "00112233-4455-6677-8899-aabbccddeeff" }, "00112233-4455-6677-8899-aabbccddeeff"],
  ["text", "text"],
  [null, null],
  // Within a structure, what JSON has no type for is text.
  [
    { at: { $date: "2026-01-02T03:04:05.678Z" }, of: [{ $oid: "1" }, { $binary: { base64: "AA==", subType: "00" } }] },
    { at: "2026-01-02T03:04:05.678Z", of: ["1", "AA=="] },
  ],
  // What is no such type stays as it is.
  [
    { $oid: "1", more: 1 },
    { $oid: "1", more: 1 },
  ],
  [{ $date: "nonsense" }, { $date: "nonsense" }],
  [{ $oid: 1 }, { $oid: 1 }],
  [{ $unknown: 1 }, { $unknown: 1 }],
  [JSON.parse('{"__proto__":{"$numberInt":"1"}}'), JSON.parse('{"__proto__":1}')],
  [{}, {}],
])("%j", (json, value) => {
  expect(extendedValue(json)).toEqual(value)
  expect(JSON.stringify(extendedValue(json))).toBe(JSON.stringify(value))
})
