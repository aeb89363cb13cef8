import TestSequencer from "@jest/test-sequencer"

/**
 * The files that take the longest, of those that do more than half a minute, the longest first. A run without recorded
 * times, such as that of a fresh clone, would otherwise begin with the largest files, and some of these would run last,
 * while the other workers are idle.
 */
const long = [
  "test/import/runs.test.ts",
  "test/examples/languages.test.ts",
  "test/session-cache/processes.test.ts",
  "test/workers/workers.test.ts",
  "test/import/adapters.test.ts",
  "test/transports/transports.test.ts",
  "test/import/catch-up.test.ts",
  "test/examples/nextjs.test.ts",
  "test/examples/express-passkey.test.ts",
  "test/auth/access.test.ts",
  "test/pipeline/restart.test.ts",
  "fuzz/fuzz.test.ts",
  "test/examples/express-devices.test.ts",
  "test/auth/keys.test.ts",
  "test/workers/workers-ends.test.ts",
  "test/cleanup/cleanup.test.ts",
  "server/src/store/sql/contract.test.ts",
  "test/resource-limits/unread-log.test.ts",
  "test/cli/command-keys.test.ts",
  "test/pipeline/leaks.test.ts",
  "test/deploy/image.test.ts",
  "test/pipeline/faults.test.ts",
  "test/upgrade/upgrade.test.ts",
  "server/src/store/sql/schema/migrate.test.ts",
  "test/resource-limits/endless-messages.test.ts",
  "test/provider-tokens/refresh-once.test.ts",
  "test/auth/tenants.test.ts",
  "test/security/read-only.test.ts",
  "test/tracing/belief.test.ts",
  "test/import/browser.test.ts",
  "test/cli/rekey.test.ts",
  "test/resource-limits/idle-connections.test.ts",
  "test/backup/backup.test.ts",
  "test/resource-limits/pipelined-requests.test.ts",
  "test/session-cache/adapter.test.ts",
  "test/auth/streams.test.ts",
  "test/tls/rotation.test.ts",
  "test/transports/metrics.test.ts",
  "test/resource-limits/answers-not-taken.test.ts",
]

const positionOf = ({ path }) => {
  const position = long.findIndex((file) => path.endsWith(`/${file}`))
  return position === -1 ? long.length : position
}

export default class LongFirst extends TestSequencer {
  sort(tests) {
    return super.sort(tests).sort((one, other) => positionOf(one) - positionOf(other))
  }
}
