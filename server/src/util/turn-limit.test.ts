import { setImmediate as nextTurn } from "node:timers/promises"
import { expect, test } from "@jest/globals"
import { lineOf, linesOf, turnByBytes, turnLimit, turnWhenLate } from "./turn-limit.js"

/** Does work that takes as long as given, one piece after the other, and records the turn of the event loop in which each runs. */
async function turnsOf(ms: number, durations: readonly number[]): Promise<number[]> {
  let time = 0
  const limit = turnLimit(ms, () => time)
  const turns: number[] = []
  let turn = 0
  // Runs first in each turn, because it is scheduled before the work.
  let next = setImmediate(function count() {
    turn++
    next = setImmediate(count)
  })
  for (const duration of durations) {
    await limit()
    turns.push(turn)
    time += duration
  }
  clearImmediate(next)
  return turns
}

test("work that takes little time runs in one turn", async () => {
  expect(await turnsOf(10, [1, 2, 3, 3])).toEqual([0, 0, 0, 0])
})

test("work waits for a later turn, in order, when the time of a turn is used up", async () => {
  expect(await turnsOf(10, [6, 6, 6, 6, 25, 1])).toEqual([0, 0, 1, 1, 2, 3])
})

test("work that comes while other work goes on without an end is not overtaken by it", async () => {
  let time = 0
  const limit = turnLimit(10, () => time)
  let pieces = 0
  let isOver = false
  const endless = async () => {
    while (!isOver && pieces < 1_000) {
      await limit()
      time += 4
      pieces++
    }
  }
  const running = endless()
  // The time of the turn is used up, and the endless work waits for the next one.
  while (pieces < 3) await new Promise<void>((resolve) => process.nextTick(resolve))
  const before = pieces
  await limit()
  expect(pieces - before).toBeLessThanOrEqual(6)
  isOver = true
  await running
})

test("a turn without work does not count", async () => {
  let time = 0
  const limit = turnLimit(10, () => time)
  await limit()
  time += 1_000
  await nextTurn()
  let isDone = false
  limit().then(() => {
    isDone = true
  })
  await Promise.resolve()
  await Promise.resolve()
  expect(isDone).toBe(true)
})

test("pieces that come at once begin one after the other: the time of each counts for the next", async () => {
  let time = 0
  const limit = turnLimit(10, () => time)
  let turn = 0
  let next = setImmediate(function count() {
    turn++
    next = setImmediate(count)
  })
  const piece = async () => {
    await limit()
    time += 6
    return turn
  }
  const turns = await Promise.all([1, 2, 3, 4].map(piece))
  clearImmediate(next)
  expect(turns).toEqual([0, 0, 1, 1])
})

test("what goes on after a piece, before the event loop does, counts for the next piece", async () => {
  let time = 0
  const limit = turnLimit(10, () => time)
  let turn = 0
  let next = setImmediate(function count() {
    turn++
    next = setImmediate(count)
  })
  const read = async () => limit()
  const converted = async () => {
    await read()
  }
  const piece = async () => {
    await converted()
    time += 6
    return turn
  }
  const turns = await Promise.all([1, 2, 3, 4].map(piece))
  clearImmediate(next)
  expect(turns).toEqual([0, 0, 1, 1])
})

test("a piece of one owner waits for one piece of each other owner, and for one of each group of them", async () => {
  let time = 0
  const limit = turnLimit(10, () => time)
  const groups = linesOf<string>(
    ([group]) => group,
    () => limit(),
  )
  const line = linesOf<string>((owner) => owner, groups)
  const done: string[] = []
  const piece = async (owner: string) => {
    await line(owner)
    time += 12
    done.push(owner)
  }
  await Promise.all(["a1", "a1", "a1", "a2", "a2", "a3", "b1", "b1"].map(piece))
  expect(done).toEqual(["a1", "b1", "a2", "b1", "a3", "a1", "a2", "a1"])
})

test("a piece for which nobody waits any more needs no turn, and delays none", async () => {
  const ended = new AbortController()
  const turns: unknown[] = []
  let begin = () => {}
  const line = linesOf<string>(
    (owner) => owner,
    async (owner) => {
      turns.push(owner)
      await new Promise<void>((resolve) => (begin = resolve))
    },
  )
  const turnFor = turnByBytes(line, "a", ended.signal)
  const first = line("a")
  const [second, third] = [turnFor(1_000_000), line("a")]
  await new Promise(setImmediate)
  ended.abort(new Error("nobody waits"))
  await expect(second).rejects.toThrow("nobody waits")
  begin()
  await first
  await new Promise(setImmediate)
  expect(turns).toHaveLength(2)
  begin()
  await third
  await expect(turnFor(1_000_000)).rejects.toThrow("nobody waits")
  expect(turns).toHaveLength(2)
})

test("a line is forgotten when no piece waits in it", async () => {
  const owners: { name: string; of: string }[] = []
  const line = linesOf<{ name: string; of: string }>(
    ({ name }) => name,
    async (owner) => void owners.push(owner),
  )
  const [first, second, later] = ["first", "second", "later"].map((of) => ({ name: "same", of })) as [
    never,
    never,
    never,
  ]
  await Promise.all([line(first), line(second)])
  await line(later)
  // A line waits for the turns of the owner who began it.
  expect(owners).toEqual([first, first, later])
})

test("a piece in a line of its own waits for one piece of the other line", async () => {
  let time = 0
  const limit = turnLimit(10, () => time)
  const [long, short] = [lineOf(limit), lineOf(limit)]
  const done: string[] = []
  const piece = async (line: () => Promise<void>, name: string) => {
    await line()
    time += 12
    done.push(name)
  }
  await Promise.all([...["a", "b", "c", "d"].map((name) => piece(long, name)), piece(short, "short")])
  expect(done.indexOf("short")).toBe(1)
  expect(done.filter((name) => name !== "short")).toEqual(["a", "b", "c", "d"])
})

test("small items wait for no turn, a large one waits for its own, and many for one together", async () => {
  let turns = 0
  const turnFor = turnByBytes(async () => void turns++, "anybody", undefined)
  const after = async (bytes: number) => {
    await turnFor(bytes)
    return turns
  }
  const counts: number[] = []
  for (const bytes of [100, 8_000, 8_000, 8_000, 300, 16_384, 4_000_000, 100]) counts.push(await after(bytes))
  expect(counts).toEqual([0, 0, 0, 1, 1, 2, 3, 3])
})

test("short pieces begin at once until those of a turn have taken their time, and wait for a turn after that", async () => {
  let time = 0
  let waiting = 0
  const turn = turnWhenLate<string>(
    async () => void waiting++,
    5,
    () => time,
  )
  for (time = 0; time < 5; time++) expect(turn("anybody")).toBeUndefined()
  expect(turn("anybody")).toBeInstanceOf(Promise)
  expect(waiting).toBe(1)
  await new Promise(setImmediate)
  expect(turn("anybody")).toBeUndefined()
})

test("no short piece begins at once while one of an earlier turn waits: it would use up the turn of that one", async () => {
  let time = 0
  const turns: (() => void)[] = []
  const turn = turnWhenLate<string>(
    () => new Promise((resolve) => turns.push(resolve)),
    5,
    () => time,
  )
  expect(turn("anybody")).toBeUndefined()
  time = 5
  const first = turn("anybody")
  await new Promise(setImmediate)
  const second = turn("anybody")
  expect(second).toBeInstanceOf(Promise)
  for (const begin of turns) begin()
  await Promise.all([first, second])
  expect(turn("anybody")).toBeUndefined()
})
