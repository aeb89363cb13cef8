import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals"
import { type SharedOptions, shared } from "./shared.js"

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

interface Thing {
  isIdle: boolean
  close: jest.Mock<() => void>
}

const url = "http://authwire.test:50051"
const header = new Headers({ authorization: "Bearer hunter2" })
const client = (options: Partial<SharedOptions<Thing>> = {}) =>
  shared<Thing>({
    kind: "connection",
    connection: { url, header },
    settings: [],
    open: () => ({ isIdle: true, close: jest.fn() }),
    ...options,
  })
const check = (times = 1) => jest.advanceTimersByTime(times * 30_000)

describe("shared", () => {
  test("clients with equal options use the same value, which the first use opens", () => {
    const [one, other] = [client(), client()]
    expect(one.opened).toBeUndefined()
    const value = one.use()
    expect([other.opened, other.use()]).toEqual([value, value])
    one.leave()
    one.leave()
    expect(one.hasLeft).toBe(true)
    expect(value.close).not.toHaveBeenCalled()
    other.leave()
    expect(value.close).toHaveBeenCalledTimes(1)
    expect(client().opened).toBeUndefined()
  })

  test.each<[string, Partial<SharedOptions<Thing>>]>([
    ["another kind", { kind: "session cache" }],
    ["another URL", { connection: { url: "http://authwire.test:50052", header } }],
    ["other headers", { connection: { url, header: new Headers({ authorization: "Bearer hunter3" }) } }],
    ["TLS", { connection: { url, header, tls: {} } }],
    ["another setting", { settings: [1] }],
    ["a setting of another type", { settings: ["undefined"] }],
  ])("a client with %s has a value of its own", (_, options) => {
    const [one, other] = [client({ settings: [undefined] }), client({ settings: [undefined], ...options })]
    expect(other.use()).not.toBe(one.use())
    one.leave()
    other.leave()
  })

  test("an idle value closes, and the next use of any client opens another one for all", () => {
    const [one, other, unused] = [client(), client(), client()]
    const first = one.use()
    other.use()
    check(2)
    expect(first.close).toHaveBeenCalledTimes(1)
    const second = other.use()
    expect(second).not.toBe(first)
    expect(one.opened).toBe(second)
    unused.leave()
    one.leave()
    expect(second.close).not.toHaveBeenCalled()
    other.leave()
    expect(second.close).toHaveBeenCalledTimes(1)
    expect(jest.getTimerCount()).toBe(0)
  })

  test("a value that is used, or has something in progress, stays open", () => {
    const one = client()
    const value = one.use()
    for (let count = 0; count < 5; count++) {
      check()
      expect(one.use()).toBe(value)
    }
    value.isIdle = false
    check(5)
    value.isIdle = true
    expect(value.close).not.toHaveBeenCalled()
    check(1)
    expect(value.close).toHaveBeenCalledTimes(1)
  })

  test("the registry, which all modules of the process can read, contains no secret", () => {
    const one = client()
    one.use()
    const registries = Object.getOwnPropertySymbols(globalThis)
      .map((key) => (globalThis as Record<symbol, unknown>)[key])
      .filter((value) => value instanceof Map)
    const keys = registries.flatMap((registry) => [...registry.keys()])
    expect(keys.length).toBeGreaterThan(0)
    expect(keys.join()).not.toContain("hunter2")
    one.leave()
  })
})
