import { expect, test } from "@jest/globals"
import { oldest, Turns } from "./turns.js"

/** The tenant of an item is its first letter, and its key the rest before the number. */
const ownerOf = (item: string) => ({ tenant: item[0] as string, keyId: item.replace(/\d/g, "") })
const turnsOf = (items: string) => {
  const turns = new Turns<string>()
  for (const item of items.split(" ")) turns.add(ownerOf(item), item)
  return turns
}
const takeAll = (turns: Turns<string>, choose = oldest<string>) => {
  const taken: string[] = []
  for (let item = turns.take(choose); item !== undefined; item = turns.take(choose)) taken.push(item)
  return taken.join(" ")
}

test("owners take turns, each with its items in their order", () => {
  expect(takeAll(turnsOf("a1 a2 a3 b1 a4 c1 b2"))).toBe("a1 b1 c1 a2 b2 a3 a4")
})

test("a tenant with many keys has as many turns as one with one, and its keys take them in turn", () => {
  expect(takeAll(turnsOf("a1 a2 ax1 ay1 b1 b2 b3 ay2"))).toBe("a1 b1 ax1 b2 ay1 b3 a2 ay2")
})

test("an owner that comes back after its turn is behind those who wait", () => {
  const turns = turnsOf("a1 b1 b2")
  expect(turns.take(oldest)).toBe("a1")
  turns.add(ownerOf("a2"), "a2")
  expect(takeAll(turns)).toBe("b1 a2 b2")
})

test("an owner without an item that may be next keeps its turn", () => {
  const turns = turnsOf("a1 b1 a2 b2 c1")
  const not = (letter: string) => (items: Iterable<string>) =>
    oldest(items)?.startsWith(letter) ? undefined : oldest(items)
  expect(takeAll(turns, not("a"))).toBe("b1 c1 b2")
  expect(turns.size).toBe(2)
  expect(takeAll(turns)).toBe("a1 a2")
})

test("counts its items, and forgets those that leave", () => {
  const turns = turnsOf("a1 a2 b1")
  turns.delete(ownerOf("b1"), "b1")
  turns.delete(ownerOf("b1"), "b1")
  turns.delete(ownerOf("a1"), "a1")
  expect([turns.size, turns.countOf(ownerOf("a")), turns.countOf(ownerOf("b")), [...turns].length]).toEqual([
    1, 1, 0, 1,
  ])
})
