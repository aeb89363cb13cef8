/** Where a block of code of a page is run: the file of the test, or the reason why no test runs it. */
export type Placement = { readonly test: string } | { readonly notRun: string }

const by = (test: string): Placement => ({ test })
const notRun = (reason: string): Placement => ({ notRun: reason })

const readme = by("test/repository/readme.test.ts")
const commands = by("test/site/printed.ts")
const certificates = by("test/site/certificates.test.ts")
const formats = by("test/site/formats.test.ts")
const programs = by("test/site/code.test.ts")
/** Needs Next.js or SvelteKit, or is part of such an application: it is compiled with their types. */
const compiled = by("site/check-code.js")
const guides = by("test/site/guides.long.test.ts")
const sveltekit = by("test/site/sveltekit-application.long.test.ts")
const nextjs = by("test/site/next-application.long.test.ts")
const nextAuth4 = by("test/next-auth-4/adapter.long.test.ts")
const languages = by("test/site/beside-make-run.long.test.ts")
const backup = by("test/backup/backup.long.test.ts")
const backupOfFiles = by("test/backup/files.long.test.ts")
const users = by("test/support/databases/documented-users.ts")
const upgrade = by("test/upgrade/upgrade.long.test.ts")
const token = by("token/src/readme.test.ts")

const exampleIsBuilt = notRun("the same commands with their values filled in are those of test/examples/languages")
const otherHosts = notRun("it names hosts that only the reader has")

/** For each page, its blocks in their order. */
export const placements: Readonly<Record<string, readonly Placement[]>> = {
  "README.md": [
    notRun("test/site/guides.long.test.ts runs `make run`, and `make test` is what runs the tests"),
    notRun("test/site/guides.long.test.ts runs the same line of each guide"),
    compiled,
    ...Array(3).fill(programs),
    readme,
    readme,
  ],
  "site/index.md": [compiled, commands],
  "docs/administration.md": [notRun("commands with what they print; test/cli/administration.test.ts runs them")],
  "docs/backup.md": [...Array(4).fill(backup), backupOfFiles, backupOfFiles, ...Array(9).fill(backup)],
  "docs/client.md": [programs, programs, programs],
  "docs/clusters.md": [otherHosts, notRun("the test's own servers are no members of a cluster")],
  "docs/console.md": [notRun("the service is the reader's; test/console/console.test.ts starts a console of one")],
  "docs/deploying.md": [
    notRun("needs Docker; test/deploy/image.long.test.ts builds the image from the same file without it"),
    notRun("needs Docker; test/deploy/compose.long.test.ts checks the files and runs deploy/make-env"),
    notRun("needs a cluster of Kubernetes; test/deploy/chart.long.test.ts renders and checks the chart"),
    notRun("the same commands are those of the first hour, which test/site/first-hour.long.test.ts runs"),
    notRun("changes the machine; test/deploy/systemd.long.test.ts checks the unit"),
    notRun("restarts services of the machine"),
    users,
    users,
    notRun("the server of PostgreSQL is the reader's"),
    notRun("variables of the service, with a command of another vendor"),
  ],
  "docs/disabling-users.md": [
    programs,
    notRun("a property of the reader's configuration; client/src/edge.test.ts and the tests of the adapter call it"),
  ],
  "docs/errors.md": [commands],
  "docs/events.md": [programs, notRun("what a command prints; test/cli/events.test.ts runs it")],
  "docs/extending-sessions.md": [compiled, commands],
  "docs/first-hour-in-production.md": Array(10).fill(by("test/site/first-hour.long.test.ts")),
  "docs/gateways.md": [commands],
  "docs/introspection.md": [programs, commands],
  "docs/moving.md": [
    commands,
    commands,
    by("server/src/import/peer/mapping.test.ts"),
    notRun("needs MongoDB; test/import/adapters.long.test.ts imports files of the same form"),
    commands,
  ],
  "docs/next-auth-4.md": [
    nextAuth4,
    by("test/next-auth-4/browser.long.test.ts"),
    notRun("a property of the reader's configuration; test/next-auth-4/adapter.long.test.ts has the same settings"),
  ],
  "docs/operating.md": [commands, notRun("variables of the service"), commands],
  "docs/other-languages.md": [
    commands,
    ...Array(5).fill(languages),
    notRun("needs a compiled schema and programs of a language that this project does not have"),
  ],
  "docs/provider-tokens.md": [compiled, programs, formats],
  "docs/releasing.md": [notRun("it makes a release; test/repository/release.long.test.ts rehearses its parts")],
  "docs/runtimes.md": [by("test/pipeline/suspended.long.test.ts")],
  "docs/security.md": [
    commands,
    formats,
    notRun("a line of the log; test/auth/audit-log.test.ts compares the fields"),
    notRun("the entries are the reader's; test/cli/administration.test.ts lists those of a service"),
    commands,
    formats,
    certificates,
    certificates,
    programs,
    certificates,
    programs,
    notRun(
      "the files of a release are the reader's; test/repository/release.long.test.ts verifies those of a rehearsal",
    ),
  ],
  "docs/session-cache.md": [programs, programs],
  "docs/sessions.md": [
    programs,
    programs,
    notRun("a command with what it prints; test/cli/administration.test.ts runs it"),
    programs,
    compiled,
    programs,
  ],
  "docs/signals.md": [notRun("an address; test/signals/signals.test.ts sends to one"), compiled, programs],
  "docs/webhooks.md": [compiled, commands, by("test/webhooks/webhooks.test.ts")],
  "docs/start/backend.md": [guides, commands, commands, commands],
  "docs/start/express.md": [guides, guides, ...Array(2).fill(by("test/examples/express-pages.test.ts"))],
  "docs/start/nextjs.md": [guides, ...Array(6).fill(nextjs)],
  "docs/start/sveltekit.md": [guides, ...Array(5).fill(sveltekit)],
  "docs/upgrading.md": [upgrade, upgrade, upgrade],
  "token/README.md": [token, token, token, token],
  "examples/envoy/README.md": [notRun("test/gateways/proxies.long.test.ts starts Envoy with the file beside it")],
  "examples/go/README.md": [exampleIsBuilt],
  "examples/java/README.md": [exampleIsBuilt],
  "examples/nginx/README.md": [notRun("test/gateways/proxies.long.test.ts starts nginx with the file beside it")],
  "examples/python/README.md": [exampleIsBuilt],
  "examples/rust/README.md": [exampleIsBuilt],
  "fuzz/README.md": [notRun("a run of an hour; fuzz/fuzz.long.test.ts runs a short one")],
}

/** The blocks that a test has to run, each as its page and its number. */
export function placedAt(test: string): [page: string, block: number][] {
  return Object.entries(placements).flatMap(([page, blocks]) =>
    blocks.flatMap((one, index) => ("test" in one && one.test === test ? [[page, index] as [string, number]] : [])),
  )
}
