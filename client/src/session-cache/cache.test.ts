import { beforeEach, describe, expect, test } from "@jest/globals"
import { type Answer, maxAgeMs, type SessionCache, sessionCache } from "./cache.js"

describe("a cache of sessions", () => {
  let at: number
  let cache: SessionCache
  const now = () => at
  const expires = new Date(1_000_000_000)

  beforeEach(() => {
    at = 1_000
    cache = sessionCache({ size: 3, now, timeOfDay: now })
    cache.grant(at + 10_000)
  })

  const answerOf = (name: string): Answer => ({
    session: { sessionToken: name, userId: "ada", expires },
    user: { id: "ada", email: "ada@example.com", emailVerified: null },
    keys: [`session of ${name}`, "ada"],
  })
  const keep = (...names: string[]) => {
    for (const name of names) cache.keep(cache.beginRead(), answerOf(name))
  }
  const kept = (...names: string[]) => names.filter((name) => cache.get(name) !== undefined)

  test("is used until the last millisecond of its lease, and again under the next lease, unless it was cut", () => {
    keep("a")
    at += 10_000
    expect(kept("a")).toEqual(["a"])
    at++
    expect(kept("a")).toEqual([])
    cache.grant(at + 1)
    expect(kept("a")).toEqual(["a"])
    cache.cut()
    cache.grant(at + 1)
    expect(kept("a")).toEqual([])
  })

  test("a lease that ends earlier does not shorten the current one", () => {
    keep("a")
    cache.grant(at + 1)
    at += 5_000
    expect(kept("a")).toEqual(["a"])
  })

  test("without a lease nothing is cached", () => {
    cache.cut()
    expect(cache.beginRead()).toBeUndefined()
    keep("a")
    cache.grant(at + 1)
    expect(kept("a")).toEqual([])
  })

  test("an entry is used for one minute at most, and not after the session has expired", () => {
    keep("a")
    cache.grant(expires.getTime() + 1)
    at += maxAgeMs
    expect(kept("a")).toEqual(["a"])
    at++
    expect(kept("a")).toEqual([])
    at = expires.getTime() - 1
    keep("a")
    expect(kept("a")).toEqual(["a"])
    at++
    expect(kept("a")).toEqual([])
  })

  test("a full cache evicts the least recently used entry", () => {
    keep("a", "b", "c")
    expect(kept("a")).toEqual(["a"])
    keep("d")
    expect(kept("a", "b", "c", "d")).toEqual(["a", "c", "d"])
  })

  test("a key evicts all its entries and prevents reads in progress from caching them", () => {
    keep("a", "b")
    const mark = cache.beginRead()
    cache.drop(["session of a"])
    expect(kept("a", "b")).toEqual(["b"])
    cache.drop(["ada"])
    expect(kept("b")).toEqual([])
    cache.keep(mark, answerOf("c"))
    expect(kept("c")).toEqual([])
  })

  test("a token evicts its session and prevents a read in progress from caching it", () => {
    keep("a")
    const mark = cache.beginRead()
    cache.dropToken("a")
    cache.keep(mark, answerOf("a"))
    expect(kept("a")).toEqual([])
  })

  test("the result of a read that began before a clear is not cached", () => {
    const mark = cache.beginRead()
    cache.clear()
    cache.keep(mark, answerOf("a"))
    expect(kept("a")).toEqual([])
  })

  const dropOthers = (count: number) => {
    for (let other = 0; other < count; other++) cache.drop([`other ${other}`])
  }

  test.each([1, 1_024])("the result of a read is cached after %i drops unless one of them names it", (count) => {
    const unnamed = cache.beginRead()
    dropOthers(count)
    cache.keep(unnamed, answerOf("a"))
    const named = cache.beginRead()
    cache.drop(["session of b"])
    dropOthers(count - 1)
    cache.keep(named, answerOf("b"))
    expect(kept("a", "b")).toEqual(["a"])
  })

  test("the result of a read is not cached after more drops than are remembered", () => {
    const mark = cache.beginRead()
    dropOthers(1_025)
    cache.keep(mark, answerOf("a"))
    expect(kept("a")).toEqual([])
  })

  test("changes to a returned session do not change the cache", () => {
    keep("a")
    const found = cache.get("a")
    found?.session.expires.setTime(0)
    if (found !== undefined) found.user.email = "changed"
    expect(cache.get("a")).toMatchObject({ session: { expires }, user: { email: "ada@example.com" } })
  })
})
