import { randomInt } from "node:crypto"
import { expect, test } from "@jest/globals"
import { type Fault, history } from "./history/history.js"

// Every run uses other histories; `make test-long` uses more. A failure reports its seed: AUTHWIRE_TEST_SEED=SEED
// AUTHWIRE_TEST_HISTORIES=1 repeats it.
const histories = Number(process.env.AUTHWIRE_TEST_HISTORIES ?? 200)
const firstSeed = Number(process.env.AUTHWIRE_TEST_SEED ?? randomInt(2 ** 31))

/** Runs `count` histories. Stops at the first that violates a guarantee. */
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

test(`${histories} random histories of reads, writes, cut streams, frozen and killed processes, clocks that are set forward: none violates the guarantee`, async () => {
  const { seed, broken, hits, acks } = await play(firstSeed, histories)
  expect({ seed, broken }).toEqual({})
  // The histories must cover the guarantee: sessions were read from the cache, and revocations were acknowledged.
  if (histories > 100) {
    expect(hits).toBeGreaterThan(10 * histories)
    expect(acks).toBeGreaterThan(histories / 2)
  }
}, 900_000)

// The histories must detect when a part of the protocol is removed. Their seeds are fixed, so that the result is
// deterministic. As that takes long, only a run of the long tests does it.
const faults: [string, Fault][] = [
  ["the check of the lease", { noLease: true }],
  ["the rows of other processes", { noRows: true }],
  ["the leases of streams that were cut", { noCut: true }],
  ["clocks of granted leases that do not jump", { jumps: true }],
  ["the marks of reads that are on their way", { noMarks: true }],
]
for (const [what, fault] of process.env.AUTHWIRE_TEST_LONG === undefined ? [] : faults) {
  test(`without ${what} they violate the guarantee`, async () => {
    expect((await play(1, 2_000, fault)).broken).toMatch(/^[tu]\d was read/)
  }, 300_000)
}
