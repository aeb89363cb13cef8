// Prints the long tests whose code has changed since the last release or in the last 25 commits, one line each: a test
// file or a target of make. CI runs these. `--all` prints all. Standard error says which are left out.
//
//   node scripts/long-tests.ts [--all]

import { execFileSync } from "node:child_process"
import { matchesGlob } from "node:path"

/**
 * Every long test, by its file or its target, with the files whose changes make CI run it. A change of the test itself
 * does so too. test/repository/long-tests checks that every long test is here, and that every pattern matches a file.
 */
export const longTests: Readonly<Record<string, readonly string[]>> = {
  site: ["site/**", "docs/start/**"],
  "release-packages": ["scripts/release/**", "*/package.json", "gen/ts/package.json"],
  "fuzz/fuzz.long.test.ts": ["fuzz/**", "proto/**", "server/src/transport/connect/**"],
  "server/src/store/sql/cluster/*.long.test.ts": ["server/src/store/sql/cluster/**"],
  "server/src/store/sql/restart.long.test.ts": ["server/src/store/sql/engine/**"],
  "server/src/store/sql/shards/*.long.test.ts": ["server/src/store/sql/shards/**"],
  "server/src/store/sql/vitess.long.test.ts": ["server/src/store/sql/engine/mysql/**"],
  "test/administration/tenants-delete.long.test.ts": [
    "server/src/store/sql/{tenants,schema/present-tenants}.ts",
    "server/src/cli/commands/tenants.ts",
  ],
  "test/adapter/outages.long.test.ts": ["client/src/sessions/**", "server/src/health/**"],
  "test/auth/outage.long.test.ts": ["server/src/auth/**"],
  "test/cli/connection-strings.long.test.ts": ["server/src/store/sql/engine/url/**", "server/src/import/peer/open.ts"],
  "test/cli/refusals.long.test.ts": ["server/src/errors/**", "server/src/store/sql/engine/*/*-errors.ts"],
  "test/cli/drain-delay.long.test.ts": ["server/src/bootstrap/server.ts", "server/src/health/**"],
  "test/adapter/nextjs-session.long.test.ts": ["client/src/nextjs.ts", "client/src/sessions/**"],
  "test/backup/*.long.test.ts": ["docs/backup.md", "server/src/store/sql/schema/migrations/**"],
  "test/conformance/*.long.test.ts": [
    "server/src/{rpc,errors}/**",
    "server/src/transport/**",
    "client/src/transport/**",
    "test/conformance/**",
  ],
  "test/console/*.long.test.ts": ["console/**"],
  "test/deploy/*.long.test.ts": ["deploy/**", "scripts/deploy/**", "server/src/config/*-options.ts"],
  "test/examples/express-*.long.test.ts": ["examples/express/**", "server/src/services/authenticator.ts"],
  "test/examples/languages.long.test.ts": ["examples/{java,rust}/**", "proto/**"],
  "test/examples/nextjs.long.test.ts": [
    "examples/nextjs/**",
    "test/examples/nextjs-*.ts",
    "client/src/nextjs.ts",
    "{client,server}/src/signals/**",
  ],
  "test/gateways/identity-languages.long.test.ts": ["server/src/identity/**", "examples/identity/**"],
  "test/gateways/proxies.long.test.ts": ["server/src/gateway/**", "server/src/transport/connect/authorize.ts"],
  "test/gateways/signing-keys.long.test.ts": ["server/src/identity/**", "server/src/store/sql/signing-keys.ts"],
  "test/import/*.long.test.ts": ["server/src/import/**", "server/src/store/sql/bulk/**"],
  "test/next-auth-4/*.long.test.ts": [
    "test/next-auth-4/**",
    "token/src/**",
    "client/src/adapter/**",
    "client/src/sessions/**",
  ],
  "test/overload/*.long.test.ts": ["server/src/overload/**"],
  "test/pipeline/*.long.test.ts": [
    "server/src/pipeline/**",
    "server/src/transport/grpc/grpc.ts",
    "client/src/pipeline/**",
    "client/src/transport/{checked-client,grpc,grpc-target}.ts",
  ],
  "test/repository/*.long.test.ts": ["scripts/release/**", "*/package.json", "deploy/helm/**"],
  "test/resource-limits/*-log.long.test.ts": ["server/src/logging/**", "server/src/rpc/rejection*.ts"],
  "test/resource-limits/a*.long.test.ts": ["server/src/transport/limits/**"],
  "test/resource-limits/endless-messages.long.test.ts": ["server/src/transport/limits/**"],
  "test/resource-limits/idle-connections.long.test.ts": ["server/src/transport/listener/**"],
  "test/resource-limits/unread-sockets.long.test.ts": ["server/src/transport/closing/**"],
  "test/runtimes/*.long.test.ts": ["test/runtimes/**", "client/src/edge.ts", "client/src/transport/fetch.ts"],
  "test/security/read-only.long.test.ts": ["server/src/health/**", "server/src/store/sql/cluster/**"],
  "test/security/unwritable.long.test.ts": ["server/src/health/**", "server/src/store/sql/{ping,full-disk}.ts"],
  "test/security/migrate-ends.long.test.ts": ["server/src/store/sql/schema/migrate.ts"],
  "test/security/nextjs-*.long.test.ts": ["test/security/nextjs/**", "client/src/nextjs.ts"],
  "test/session-cache/guarantee.test.ts": ["server/src/session-cache/**", "client/src/session-cache/**"],
  "test/session-cache/processes.long.test.ts": ["server/src/session-cache/**", "client/src/session-cache/**"],
  "test/site/beside-make-run.long.test.ts": [
    "docs/{start/backend,other-languages}.md",
    "gen/{go,python}/**",
    "examples/{go,python,java,rust}/**",
    "test/site/printed.ts",
  ],
  "test/site/first-hour.long.test.ts": ["docs/first-hour-in-production.md"],
  "test/site/guides.long.test.ts": ["docs/start/*.md", "site/**", "client/src/nextjs.ts"],
  "test/site/next-application.long.test.ts": [
    "docs/start/nextjs.md",
    "examples/nextjs/package.json",
    "client/src/nextjs.ts",
    "test/site/guide-outages.ts",
  ],
  "test/site/pages.long.test.ts": ["site/**"],
  "test/site/sveltekit-application.long.test.ts": [
    "docs/start/sveltekit.md",
    "site/package.json",
    "test/site/guide-outages.ts",
  ],
  "test/tracing/*.long.test.ts": ["server/src/tracing/**", "client/src/transport/trace.ts"],
  "test/webhooks/*.long.test.ts": [
    "server/src/webhooks/**",
    "server/src/store/sql/webhooks/**",
    "test/webhooks/verifiers/**",
  ],
  "test/upgrade/*.long.test.ts": ["server/src/store/sql/schema/**", "proto/**", "scripts/{earlier,releases.ts}"],
}

const git = (...args: string[]) => execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })

/** The files that have changed, and since when; undefined if the history does not say. */
function changes(): { since: string; files: string[] } | undefined {
  for (const since of [
    ["describe", "--tags", "--abbrev=0", "--match", "v*"],
    ["rev-parse", "--verify", "HEAD~25"],
  ]) {
    try {
      const base = git(...since).trim()
      return { since: base.slice(0, 12), files: git("diff", "--name-only", base, "HEAD").trim().split("\n") }
    } catch {
      // There is no release, or the history is shorter than 25 commits.
    }
  }
  return undefined
}

if (import.meta.main) {
  const changed = process.argv.includes("--all") ? undefined : changes()
  for (const [name, patterns] of Object.entries(longTests)) {
    const runs =
      changed === undefined || changed.files.some((file) => [name, ...patterns].some((one) => matchesGlob(file, one)))
    if (runs) console.log(name)
    else console.error(`left out: ${name} (no change of ${patterns.join(", ")} since ${changed.since})`)
  }
}
