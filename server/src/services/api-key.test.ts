import { expect, test } from "@jest/globals"
import { newKeys } from "./api-key.js"

test("a call makes one key, also if its work runs again, and every other call another one", () => {
  const newKeyFor = newKeys()
  const calls = [{ identity: undefined }, { identity: undefined }] as const
  const [first, again, other] = [calls[0], calls[0], calls[1]].map((call) => newKeyFor(call, "k", []))
  expect(again).toEqual(first)
  expect(other?.key.id).not.toBe(first?.key.id)
})
