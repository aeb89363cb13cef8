import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { expect, test } from "@jest/globals"
import { ago, counted, device, exact, nameOf, plain, plainLines, shortened } from "./text.ts"

test("what turns a line around, hides a part of it or breaks it becomes visible", () => {
  expect(plain("a\u202Egnp.exe\u2066\u200B\n\0")).toBe("a⟨U+202E⟩gnp.exe⟨U+2066⟩⟨U+200B⟩⟨U+000A⟩⟨U+0000⟩")
  expect(plain("Zoë <b> \u{1f98a}")).toBe("Zoë <b> \u{1f98a}")
  expect(plainLines("a\nb\u202E")).toBe("a\nb⟨U+202E⟩")
})

test("a long text is cut, a short one is not", () => {
  expect(shortened("x".repeat(100))).toBe("x".repeat(100))
  expect(shortened("x".repeat(4000))).toBe(`${"x".repeat(100)}…`)
})

test.each([
  [-90_000, "1 minute ago"],
  [-86_400_000 * 3, "3 days ago"],
  [3_600_000 * 2 + 500, "in 2 hours"],
])("a moment %s ms away is %s", (difference, text) => {
  expect(ago(timestampFromMs(Date.now() + difference))).toBe(text)
})

test("a moment is told from another one, which moves on", () => {
  const texts = [0, 59_000, 60_000].map((now) => ago(timestampFromMs(0), now))
  expect(texts).toEqual(["now", "59 seconds ago", "1 minute ago"])
})

test("one is not many", () => {
  expect([0, 1, 2n].map((value) => counted(value, "session"))).toEqual(["0 sessions", "1 session", "2 sessions"])
})

test("a user is called by name, otherwise by address, otherwise by id", () => {
  expect([nameOf({ id: "1", name: "", email: "a@x.org" }), nameOf({ id: "1" })]).toEqual(["a@x.org", "1"])
})

test("the exact moment is in UTC", () => {
  expect(exact(timestampFromMs(0))).toBe("1970-01-01T00:00:00.000Z")
})

test.each([
  ["Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"],
  ["curious/1", "curious/1"],
  ["", "Unknown device"],
  [undefined, "Unknown device"],
])("the user agent %j is %s", (userAgent, text) => {
  expect(device(userAgent)).toBe(text)
})
