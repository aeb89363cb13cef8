import { expect, test } from "@jest/globals"
import { askedLifetime } from "./session-policies.js"

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]

test.each([
  ["a shorter one", 3 * day, 0, "shorter"],
  ["one that the policy would have to cut, but for the time of the call", 7 * day - 3, 0, "shorter"],
  ["a shorter one that was extended", 5 * day, 2 * day, "shorter"],
  ["one from before the policy, and the time of its call", 30 * day - 40, 0, "30d"],
  ["one that was used for a minute", 30 * day + 20, minute, "30d"],
  ["one in hours", 180 * hour, 0, "180h"],
  ["one from before the policy that was extended or not", 30 * day, 3 * hour, "29d or more"],
  ["one that has been used for long, and may have been shorter", 30 * day, 25 * day, undefined],
  ["one that is only somewhat longer", 7 * day + 3 * hour, hour, "169h or more"],
  ["one that the policy has cut", 7 * day, 0, "7d or more"],
  ["an extension that the policy has cut", 7 * day, 6 * day, undefined],
])("a session tells what an application asked for: %s", (_, lifetime, usedFor, asked) => {
  const created = Date.UTC(2026, 0, 1)
  const at = (ms: number) => new Date(created + ms)
  expect(askedLifetime({ created: at(0), used: at(usedFor), expires: at(lifetime) }, 7 * day)).toBe(asked)
})

test("with a policy of a minute, a session that was used for a minute tells nothing", () => {
  const [created, end] = [new Date(0), new Date(minute)]
  expect(askedLifetime({ created, used: end, expires: end }, minute)).toBeUndefined()
})
