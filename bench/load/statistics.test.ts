import { describe, expect, test } from "@jest/globals"
import { median, percentile, randomNumbers } from "./statistics.ts"

describe("median", () => {
  test("is the one in the middle, whatever the order", () => {
    expect(median([9, 1, 5])).toBe(5)
    expect(median([10, 9, 100])).toBe(10)
  })

  test("of an even number is between the two in the middle", () => {
    expect(median([1, 2, 4, 100])).toBe(3)
  })

  test("of nothing is nothing", () => {
    expect(median([])).toBeNaN()
  })
})

describe("percentile", () => {
  const hundred = Float64Array.from({ length: 100 }, (_, index) => index + 1)

  test("is a value that so many do not exceed", () => {
    expect(percentile(hundred, 0.5)).toBe(50)
    expect(percentile(hundred, 0.99)).toBe(99)
    expect(percentile(hundred, 1)).toBe(100)
    expect(percentile(hundred, 0)).toBe(1)
  })

  test("of one value is that value", () => {
    expect(percentile([7], 0.99)).toBe(7)
  })

  test("of nothing is nothing", () => {
    expect(percentile([], 0.5)).toBeNaN()
  })
})

describe("randomNumbers", () => {
  test("are the same for the same seed, and others for another", () => {
    const take = (seed: number) => Array.from({ length: 5 }, randomNumbers(seed))
    expect(take(1)).toEqual(take(1))
    expect(take(1)).not.toEqual(take(2))
  })

  test("fall everywhere from 0 up to 1, and as often", () => {
    const random = randomNumbers(3)
    const counts = new Array<number>(10).fill(0)
    for (let count = 0; count < 10_000; count++) {
      const place = Math.floor(random() * 10)
      counts[place] = (counts[place] ?? 0) + 1
    }
    expect(counts).toHaveLength(10)
    for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(150)
  })
})
