import { randomInt } from "node:crypto"
import { expect, test } from "@jest/globals"
import { type Fault, history } from "./history/history.js"

// Others in every run; `make test-long` plays more of them. A failure says its seed:
// AUTHWIRE_TEST_SEED=SEED AUTHWIRE_TEST_HISTORIES=1 plays that one again.
const histories = Number(process.env.AUTHWIRE_TEST_HISTORIES ?? 2_000)
const firstSeed = Number(process.env.AUTHWIRE_TEST_SEED ?? randomInt(2 ** 31))

/** Plays so many histories; stops at the first that is broken. */
async function play(first: number, count: number, fault?: Fault) {
  let [hits, acks] = [0, 0]
  for (let seed = first; seed < first + count; seed++) {
    const played = await history(seed, fault)
    hits += played.hits
    acks += played.acks
    if (played.broken.length > 0) return { seed, broken: played.broken[0], hits, acks }
  }
  return { hits, acks }
}

test(`${histories} random histories of reads, writes, cut streams, frozen and killed processes: none is broken`, async () => {
  const { seed, broken, hits, acks } = await play(firstSeed, histories)
  expect({ seed, broken }).toEqual({})
  // They are worth something: sessions were read from memory, and revocations were acknowledged.
  if (histories > 100) {
    expect(hits).toBeGreaterThan(10 * histories)
    expect(acks).toBeGreaterThan(histories / 2)
  }
}, 900_000)

// The histories find what is taken out: always the same ones, so that chance has no part in it.
test.each<[string, Fault]>([
  ["the check of the lease", { noLease: true }],
  ["the rows of other processes", { noRows: true }],
  ["the marks of reads that are on their way", { noMarks: true }],
])(
  "without %s they are broken",
  async (_, fault) => {
    expect((await play(1, 2_000, fault)).broken).toMatch(/^[tu]\d was read/)
  },
  300_000,
)
