import { expect, test } from "@jest/globals"
import { bytesOfCost, callCosts } from "./call-costs.js"

const one = { tenant: "t", keyId: "one" }
const other = { tenant: "t", keyId: "other" }

test("a call costs as many units as the bytes of the key's answers before, and what a first one may have", () => {
  const costs = callCosts(32 * bytesOfCost)
  expect(costs.of(one)).toBe(33)
  costs.answered(one, 100 * bytesOfCost)
  expect([costs.of(one), costs.of(other)]).toEqual([101, 33])
  expect(callCosts(0).of(one)).toBe(1)
})

test("S-22: a few small answers do not make the large ones after them cheap", () => {
  const costs = callCosts(0)
  costs.answered(one, 32 * bytesOfCost)
  costs.answered(one, 0)
  expect(costs.of(one)).toBe(29)
  for (let answer = 0; answer < 40; answer++) costs.answered(one, 0)
  expect(costs.of(one)).toBe(1)
})

test("of many keys, the one that has not called for longest is forgotten", () => {
  const costs = callCosts(0)
  costs.answered(one, 32 * bytesOfCost)
  costs.answered(other, 32 * bytesOfCost)
  for (let key = 0; key < 998; key++) costs.answered({ tenant: "t", keyId: `${key}` }, 0)
  costs.answered(one, 32 * bytesOfCost)
  costs.answered({ tenant: "t", keyId: "last" }, 0)
  expect([costs.of(one), costs.of(other)]).toEqual([33, 1])
})
