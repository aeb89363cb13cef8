import TestSequencer from "@jest/test-sequencer"

/**
 * Files that take minutes and are short to read. A run that knows no times, as that of a fresh clone, begins with the largest
 * files: these would come last, each with a worker that has nothing left to do beside it.
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
