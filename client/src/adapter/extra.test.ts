import { runInNewContext } from "node:vm"
import { describe, expect, test } from "@jest/globals"
import { extraToWire, maxDepth } from "./extra.js"

const failure = (rest: object) => {
  try {
    extraToWire(rest)
  } catch (error) {
    return (error as { rawMessage: string }).rawMessage
  }
  return undefined
}

/** Creates `levels` nested objects with a number at the bottom. */
const nested = (levels: number): object => (levels === 0 ? { a: 1 } : { a: nested(levels - 1) })

describe("extraToWire", () => {
  test("keeps JSON values unchanged", () => {
    const rest = { role: "admin", limits: [1, -2.5, 1e300, null, true], nested: { "": { "not-before-policy": 0 } } }
    expect(extraToWire(rest)).toEqual(rest)
  })

  test("returns undefined without properties", () => {
    expect(extraToWire({})).toBeUndefined()
    expect(extraToWire({ role: undefined }, { name: "Ada", image: undefined })).toBeUndefined()
  })

  test("contains the named properties that are null", () => {
    expect(extraToWire({ role: "admin" }, { name: null, image: undefined, email: "a" })).toEqual({
      role: "admin",
      name: null,
    })
  })

  test("calls toJSON and drops undefined properties, as JSON.stringify does", () => {
    const rest = {
      site: new URL("https://example.com/"),
      custom: { toJSON: (key: string) => `${key}!` },
      gone: { a: undefined, b: 1, c: { toJSON: () => undefined } },
      list: [1, undefined, new Array(2)],
    }
    expect(extraToWire(rest)).toEqual(JSON.parse(JSON.stringify(rest)))
  })

  test.each([
    ["extra.since", { since: new Date(0) }],
    ["extra.plan.dates[1]", { plan: { dates: [null, new Date(Number.NaN)] } }],
    ["extra.of.another.realm", { of: { another: { realm: runInNewContext("new Date(0)") } } }],
  ])("rejects a Date, which would come back as a string: %s", (path, rest) => {
    expect(failure(rest)).toBe(
      `${path} must be a JSON value: a Date would come back as a string, so store its toISOString()`,
    )
  })

  test("accepts instances of classes and objects without a prototype", () => {
    class Plan {
      name = "pro"
    }
    expect(extraToWire({ plan: new Plan(), bare: Object.assign(Object.create(null), { a: 1 }) })).toEqual({
      plan: { name: "pro" },
      bare: { a: 1 },
    })
  })

  test("treats `__proto__` like any other key", () => {
    const rest = JSON.parse(
      '{"__proto__": {"polluted": true}, "constructor": 1, "a": {"__proto__": 2, "prototype": 3}}',
    )
    const extra = extraToWire(rest)
    expect(JSON.stringify(extra)).toBe(JSON.stringify(rest))
    expect(Object.getPrototypeOf(extra)).toBe(Object.prototype)
    expect("polluted" in {}).toBe(false)
  })

  test.each([
    ["NaN", Number.NaN, "extra.foo.bar must be a finite number"],
    ["an infinite number", Number.NEGATIVE_INFINITY, "extra.foo.bar must be a finite number"],
    ["a bigint", 1n, "extra.foo.bar must be a JSON value, not a bigint"],
    ["a function", () => 1, "extra.foo.bar must be a JSON value, not a function"],
    ["a symbol", Symbol("s"), "extra.foo.bar must be a JSON value, not a symbol"],
    ["a map", new Map([["a", 1]]), "extra.foo.bar must be a JSON value"],
    ["a set", new Set([1]), "extra.foo.bar must be a JSON value"],
    ["bytes", new Uint8Array(2), "extra.foo.bar must be a JSON value"],
    ["half a surrogate pair", "\ud800", "extra.foo.bar must be well-formed Unicode"],
  ])("rejects %s and names its path", (_, value, message) => {
    expect(failure({ foo: { bar: value } })).toBe(message)
    expect(failure({ foo: [[value]] })).toBe(message.replace(".bar", "[0][0]"))
  })

  test("rejects a key that is not Unicode", () => {
    expect(failure({ "a\udc00": 1 })).toBe("extra.a\ufffd must be well-formed Unicode")
  })

  test("rejects an object that contains itself, but not one that occurs twice", () => {
    const cycle: Record<string, unknown> = {}
    cycle.self = [cycle]
    expect(failure({ cycle })).toBe("extra.cycle.self[0] must not contain itself")
    const rest = { shared: 1 }
    expect(extraToWire({ a: rest, b: rest })).toEqual({ a: rest, b: rest })
  })

  test("rejects values that exceed the maximum depth", () => {
    expect(failure(nested(maxDepth - 1))).toBeUndefined()
    expect(failure(nested(maxDepth))).toMatch(/^extra(\.a){32} must not be nested deeper than 32 levels$/)
    const endless = { toJSON: () => ({ endless }) }
    expect(failure({ endless })).toMatch(/must not be nested deeper/)
  })
})
