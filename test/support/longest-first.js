import { statSync } from "node:fs"

/**
 * The tests that take longest, by the beginnings of their paths. The others follow by the sizes of their files. Jest itself
 * knows the durations of the last run on the same machine only: in CI, which has none, the longest would run alone at the end.
 */
const longest = [
  "test/import/adapters.long",
  "test/site/beside-make-run.long",
  "test/session-cache/guarantee.test",
  "test/site/pages.long",
  "test/import/runs.long",
  "server/src/store/sql/contract.test",
  "fuzz/fuzz.long",
  "test/examples/languages",
  "test/conformance/conformance.long",
  "test/site/next-application.long",
  "test/deploy/image.long",
  "test/backup/backup.long",
  "test/pipeline/leaks.long",
  "test/transports/transports.test",
  "server/src/store/sql/schema/migrate.test",
]

/** The order of a run, see testSequencer of jest. */
export default class LongestFirst {
  sort(tests) {
    const rank = ({ path, context }) => {
      const file = path.slice(context.config.rootDir.length + 1)
      const at = longest.findIndex((one) => file.startsWith(one))
      return at === -1 ? longest.length : at
    }
    const size = ({ path }) => statSync(path).size
    return tests.toSorted((one, other) => rank(one) - rank(other) || size(other) - size(one))
  }

  shard() {
    throw new Error("--shard is not supported")
  }

  allFailedTests() {
    throw new Error("--onlyFailures is not supported")
  }

  cacheResults() {}
}
