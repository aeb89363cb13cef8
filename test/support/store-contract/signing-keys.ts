import { describe, expect, test } from "@jest/globals"
import { type ContractContext, encryptionKeys, range } from "./context.js"

export function signingKeyContract(context: ContractContext): void {
  const usedFrom = new Date(1_700_000_000_123)
  const keyOf = (number: number) => ({ number, privateKey: `private ${number}`, usedFrom })

  test("keys are listed in the order of their numbers, and the database has none of their text", async () => {
    const { store, other } = context
    for (const number of [10, 9]) expect(await store.signingKeys.add({}, keyOf(number))).toBe(true)
    expect(await other.signingKeys.list({})).toEqual([keyOf(9), keyOf(10)])
    const rows = await context.database.sql("SELECT private_key FROM signing_keys", [])
    expect(rows).toHaveLength(2)
    expect(JSON.stringify(rows)).not.toContain("private 9")
    await other.signingKeys.remove({}, [9, 10])
    expect(await store.signingKeys.list({})).toEqual([])
  })

  test("of any number of processes one makes the key of a number", async () => {
    const made = await Promise.all(
      range(10).map((n) => (n % 2 ? context.store : context.other).signingKeys.add({}, keyOf(1))),
    )
    expect(made.filter((isMade) => isMade)).toHaveLength(1)
    await context.store.signingKeys.remove({}, [1])
  })

  describe("with a new encryption key", () => {
    test("a key is unreadable without the old one, and sealed again with both", async () => {
      const [older, newer] = [encryptionKeys[0] as Buffer, Buffer.alloc(32, 7)]
      await context.store.signingKeys.add({}, keyOf(1))
      const stranger = await context.database.openStore({ encryptionKeys: [newer] })
      expect(await stranger.signingKeys.list({})).toEqual([{ number: 1, privateKey: undefined, usedFrom }])
      expect(await stranger.signingKeys.reseal({})).toEqual({ seen: 1, resealed: 0, unreadable: 1 })
      const both = await context.database.openStore({ encryptionKeys: [newer, older] })
      expect(await both.signingKeys.reseal({})).toEqual({ seen: 1, resealed: 1, unreadable: 0 })
      expect(await both.signingKeys.reseal({})).toEqual({ seen: 1, resealed: 0, unreadable: 0 })
      expect(await stranger.signingKeys.list({})).toEqual([keyOf(1)])
      await both.signingKeys.remove({}, [1])
    })
  })
}
