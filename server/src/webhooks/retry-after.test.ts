import { expect, test } from "@jest/globals"
import { retryAfterMs } from "./retry-after.js"

const sentAt = new Date("2026-01-01T12:00:00Z")
const [noon, later, earlier] = [
  "Thu, 01 Jan 2026 12:00:00 GMT",
  "Thu, 01 Jan 2026 12:00:30 GMT",
  "Thu, 01 Jan 2026 11:59:00 GMT",
]

test.each<[string | undefined, string | undefined, number | undefined]>([
  ["120", undefined, 120_000],
  ["43200", undefined, 43_200_000],
  ["43201", undefined, 43_200_000],
  ["999999999", undefined, 43_200_000],
  [later, noon, 30_000],
  // The clock of the receiver, and not that of the service, counts.
  [later, earlier, 90_000],
  [later, undefined, 30_000],
  [later, "nonsense", 30_000],
  ["Fri, 01 Jan 2100 00:00:00 GMT", noon, 43_200_000],
  ...[
    undefined,
    "",
    "0",
    "-1",
    "1.5",
    "1e3",
    "0x10",
    "9".repeat(20),
    "soon",
    "2026-01-02",
    earlier,
    "Thu, 99 Foo 2026 12:00:30 GMT",
  ].map((text): [string | undefined, string, undefined] => [text, noon, undefined]),
])("Retry-After %j of an answer of %j is a pause of %s ms", (text, date, ms) => {
  expect(retryAfterMs({ "retry-after": text, date }, sentAt)).toBe(ms)
})
