import { expect, test } from "@jest/globals"
import type { AttackFigure } from "../results.ts"
import { holds } from "./attack.ts"

const mebibyte = 2 ** 20
const figure = (parts: Partial<AttackFigure>): AttackFigure => ({
  ...{ name: "an attack", hasKey: false, seconds: 60, begun: 1_000, idleBytes: 100 * mebibyte },
  ...{ peakBytes: 164 * mebibyte, health: { worst: 250, asked: 600, failed: 0 }, left: 0 },
  ...parts,
})

test("a service holds up to each limit, and not beyond", () => {
  expect(holds(figure({}))).toBe(true)
  expect(holds(figure({ peakBytes: 165 * mebibyte }))).toBe(false)
  expect(holds(figure({ peakBytes: 356 * mebibyte, hasKey: true }))).toBe(true)
  expect(holds(figure({ peakBytes: 357 * mebibyte, hasKey: true }))).toBe(false)
  expect(holds(figure({ health: { worst: 251, asked: 600, failed: 0 } }))).toBe(false)
  expect(holds(figure({ health: { worst: 1, asked: 600, failed: 1 } }))).toBe(false)
  expect(holds(figure({ left: 1 }))).toBe(false)
})
