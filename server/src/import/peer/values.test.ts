import { describe, expect, test } from "@jest/globals"
import { dateOf, flagOf, jsonReader, numberOf, textOf, uuidOf } from "./values.js"

const moment = "2026-03-29T01:30:00.123Z"

describe("dateOf", () => {
  test.each([
    ["ISO 8601", "2026-03-29T01:30:00.123Z", "Z"],
    ["an offset", "2026-03-29T03:30:00.123+02:00", "Z"],
    ["an offset of hours, as PostgreSQL writes it", "2026-03-29 03:30:00.123456+02", "Z"],
    ["an offset of hours and minutes, before UTC", "2026-03-28 21:00:00.123-0430", "Z"],
    ["no time zone", "2026-03-29 01:30:00.123", "Z"],
    ["no time zone where the mapping names one", "2026-03-29 12:00:00.123", "+10:30"],
    ["milliseconds", Date.parse(moment), "Z"],
    ["milliseconds as text, as TypeORM writes them", String(Date.parse(moment)), "Z"],
    ["seconds", Date.parse(moment) / 1000, "+10:30"],
  ])("reads %s", (_, value, timezone) => {
    expect(dateOf(value, timezone)?.toISOString()).toBe(moment)
  })

  // A flag, a year, days and dates in digits, and what is far in the past or the future.
  test.each([
    ...[0, 1, -1, 2024, 2_460_000, 20_240_102, 20_240_102_120_000, 946_684_799, 7_258_118_400, 1e15],
    ...["0", "1", "20240102"],
  ])("does not take %j for a date", (value) => expect(dateOf(value, "Z")).toBeUndefined())

  test.each(["", "yesterday", "2026-02-31 25:00:00", "0000-00-00 00:00:00", true, {}])("does not read %j", (value) => {
    expect(dateOf(value, "Z")).toBeUndefined()
  })
})

test("whole numbers as ids lose nothing, and bytes must be UTF-8", () => {
  expect(textOf("9007199254740993")).toBe("9007199254740993")
  expect(textOf(42)).toBe("42")
  expect(textOf(Buffer.from("ü"))).toBe("ü")
  expect(textOf(Buffer.from([0xff]))).toBeUndefined()
  // A double has rounded these.
  expect([1e20, 1.5, 2 ** 53].map(textOf)).toEqual([undefined, undefined, undefined])
  expect(uuidOf(Buffer.from("00112233445566778899aabbccddeeff", "hex"))).toBe("00112233-4455-6677-8899-aabbccddeeff")
  expect([Buffer.from("0011", "hex"), "00112233445566778899aabbccddeeff"].map(uuidOf)).toEqual([undefined, undefined])
})

test("numbers and flags are read as every driver gives them", () => {
  expect([numberOf("1893456000"), numberOf(1.5), numberOf("1e3"), numberOf("12a")]).toEqual([
    1893456000,
    1.5,
    1000,
    undefined,
  ])
  expect([true, 1, "1", "t", Buffer.from([1])].map(flagOf)).toEqual([true, true, true, true, true])
  expect([false, 0, "0", "f", Buffer.from([0])].map(flagOf)).toEqual([false, false, false, false, false])
  expect(["1.00", "TRUE", "Yes", "on", "y"].map(flagOf)).toEqual([true, true, true, true, true])
  expect(["0.0", "False", "NO", "off", ""].map(flagOf)).toEqual([false, false, false, false, false])
  for (const other of [2, "2", "10", "2026-01-01", "maybe", Buffer.from([0, 0, 1]), Buffer.from([1, 2])])
    expect(flagOf(other)).toBeUndefined()
})

const jsonOf = (value: unknown, type: string, timezone: string) => jsonReader(type)(value, timezone)

test("what the contract does not name becomes JSON by the type of its column", () => {
  expect(jsonOf("2026-03-29 01:30:00.123", "datetime(3)", "Z")).toBe(moment)
  expect(jsonOf("7", "bigint unsigned", "Z")).toBe(7)
  expect(jsonOf("9007199254740993", "bigint", "Z")).toBe("9007199254740993")
  expect(jsonOf(-3, "unsigned big int", "Z")).toBe(-3)
  expect(jsonOf(1e300, "double", "Z")).toBe(1e300)
  expect(jsonOf("NaN", "double precision", "Z")).toBe("NaN")
  expect(jsonOf({ x: 1, y: 2.5 }, "point", "Z")).toEqual({ x: 1, y: 2.5 })
  expect(jsonOf([{ x: 1, y: 2 }], "multipoint", "Z")).toEqual([{ x: 1, y: 2 }])
  expect(jsonOf("(1,2)", "point", "Z")).toBe("(1,2)")
  expect(jsonOf("1 day", "interval", "Z")).toBe("1 day")
  expect(jsonOf(1, "tinyint(1)", "Z")).toBe(true)
  expect(jsonOf(5, "tinyint(1)", "Z")).toBe(5)
  expect(jsonOf('{"a":[1]}', "jsonb", "Z")).toEqual({ a: [1] })
  expect(jsonOf("12.50", "decimal(10,2)", "Z")).toBe("12.50")
  expect(jsonOf(Buffer.from([1, 2]), "blob", "Z")).toBe("AQI=")
  expect(jsonOf(null, "text", "Z")).toBeNull()
  expect(jsonOf([["1", null], []], "bigint[]", "Z")).toEqual([[1, null], []])
})
