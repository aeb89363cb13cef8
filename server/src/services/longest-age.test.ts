import { expect, test } from "@jest/globals"
import { longestAges } from "./token.js"

test("the lifetime that the policy of a tenant allows is read again after 5 seconds, and kept while it cannot be read", async () => {
  let now = 0
  let reads = 0
  let answer: () => Promise<{ maxAge?: number }> = async () => ({ maxAge: 60 })
  const longestAge = longestAges(
    {
      get: () => {
        reads++
        return answer()
      },
    },
    () => now,
  )
  expect([await longestAge("t"), await longestAge("t"), reads]).toEqual([60, 60, 1])
  answer = async () => ({})
  now += 5_000
  expect([await longestAge("t"), reads]).toEqual([undefined, 2])
  answer = () => Promise.reject(new Error("lost"))
  now += 5_000
  expect([await longestAge("t"), reads]).toEqual([undefined, 3])
  expect(await longestAge("t")).toBeUndefined()
  expect(reads).toBe(3)
})

test.each([
  ["fails", () => Promise.reject(new Error("lost"))],
  ["hangs", () => new Promise<never>(() => {})],
])("DATABASE_UNAVAILABLE: the policy was never read, and the read %s", async (_, get) => {
  await expect(longestAges({ get }, () => 0)("t")).rejects.toMatchObject({ reason: "DATABASE_UNAVAILABLE" })
})
