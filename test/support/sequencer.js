import TestSequencer from "@jest/test-sequencer"

/**
 * Short files whose tests take minutes. A run without recorded times, such as that of a fresh clone, starts with the
 * largest files, so these would run last, each while the other workers are idle.
 */
const long = [
  "test/transports/transports.test.ts",
  "server/src/store/sql/contract.test.ts",
  "fuzz/fuzz.test.ts",
  "test/import/catch-up.test.ts",
  "test/import/adapters.test.ts",
  "test/cleanup/cleanup.test.ts",
  "test/pipeline/faults.test.ts",
  "test/pipeline/leaks.test.ts",
  "test/session-cache/guarantee.test.ts",
]

const isLong = ({ path }) => long.some((file) => path.endsWith(`/${file}`))

export default class LongFirst extends TestSequencer {
  sort(tests) {
    const sorted = super.sort(tests)
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))]
  }
}
