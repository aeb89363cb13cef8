import base, { ignored } from "./jest.config.js"

// For the global set-up and the tests.
process.env.AUTHWIRE_TEST_LONG = "1"
process.env.AUTHWIRE_TEST_HISTORIES ??= "10000"

/** Tests that need a database which no machine has by itself, and the variables with its URL. */
const ofVitess = [
  ["vitess\\.long\\.test", process.env.AUTHWIRE_TEST_VITESS_URL],
  ["shards\\.long\\.test", process.env.AUTHWIRE_TEST_VITESS_SHARDS_URL],
  // HOST:PORT of the keyspace's vtctld. It has the shards -80 and 80-, and -40 and 40-80, which do not serve.
  ["moves\\.long\\.test", process.env.AUTHWIRE_TEST_VITESS_VTCTLD],
]
const withPlans = ofVitess.some(([, url]) => url)
const leftOut = ofVitess.filter(([, url]) => !url).map(([name]) => name)

/**
 * The tests that take long (`make test-long`), and those of which a normal run does a small part. scripts/long-tests.ts
 * says when CI runs them.
 *
 * @type {import("jest").Config}
 */
export default {
  ...base,
  testMatch: [
    "**/*.long.test.ts",
    "**/test/session-cache/guarantee.test.ts",
    // On Vitess only.
    ...(withPlans ? ["**/store/sql/plans/*.test.ts"] : []),
  ],
  testPathIgnorePatterns: [...ignored, ...leftOut],
  // The tests of shards use one keyspace.
  ...(process.env.AUTHWIRE_TEST_VITESS_SHARDS_URL && { maxWorkers: 1 }),
  // As in jest.config.js, this only ends tests that hang. Some of these make 200,000 calls on two busy cores.
  testTimeout: 180_000,
}
