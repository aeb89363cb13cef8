import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { globSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { blocksOf, folderWithCheckout, runBlock } from "@authwire/test-support/applications/pages.js"
import { hasSite, site } from "@authwire/test-support/applications/site.js"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const root = fileURLToPath(new URL("../..", import.meta.url))
const guides = globSync("docs/start/*.md", { cwd: root })

/** The first block of a guide, and the guides that begin with it. */
const firsts = Map.groupBy(guides, (guide) => blocksOf(guide)[0]?.code ?? "")

describe("the guides", () => {
  const folder = folderWithCheckout()
  // With the settings and caches of npm. An option of Node for the tests is none for npm.
  const { NODE_OPTIONS: _, ...env } = process.env as Record<string, string>
  let http: string
  let addresses: Record<string, string>

  beforeAll(async () => {
    // Otherwise make would install the packages into this repository, from which the tests run.
    const changed = (file: string) => statSync(join(root, file)).mtimeMs
    if (changed("package-lock.json") > changed("node_modules/.package-lock.json")) throw new Error("run: make install")
    http = `127.0.0.1:${await freePort()}`
    addresses = { AUTHWIRE_GRPC_ADDR: `127.0.0.1:${await freePort()}`, AUTHWIRE_HTTP_ADDR: http }
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test.each([...firsts].map(([code, pages]) => ({ pages: pages.join(", "), code })))(
    "the first block of $pages starts the service as it stands",
    async ({ code }) => {
      expect(code).toMatch(/^make -C authwire run\n/m)
      // A process group of its own, which ends with all that make has started.
      const child: ChildProcess = spawn("bash", ["-euo", "pipefail", "-c", code], {
        cwd: folder,
        env: { ...env, ...addresses },
        detached: true,
        stdio: "ignore",
      })
      const closed = once(child, "close")
      try {
        await until(
          () =>
            fetch(`http://${http}/readyz`).then(
              ({ ok }) => ok,
              () => false,
            ),
          240_000,
        )
      } finally {
        process.kill(-(child.pid as number), "SIGTERM")
        await closed
      }
    },
    300_000,
  )

  // test/site/next-application does so for Next.js.
  test.each(["docs/start/express.md", "docs/start/sveltekit.md"])(
    "the packages that %s installs can be used",
    async (guide) => {
      const [, install] = blocksOf(guide).filter(({ language }) => language === "sh")
      const application = join(folder, guide.replaceAll("/", "-"))
      mkdirSync(application)
      writeFileSync(join(application, "package.json"), '{ "private": true, "type": "module" }')
      await promisify(execFile)("make", ["-C", "authwire", "packages"], { cwd: folder, env })
      await runBlock(install?.code ?? "", application, env)
      const load = "import { AuthwireAdapter } from '@authwire/client'; console.log(typeof AuthwireAdapter)"
      expect(await runBlock(`node --input-type=module -e "${load}"`, application, env)).toBe("function\n")
    },
    // The registry may be slow.
    900_000,
  )
})

const withSite = hasSite() ? test : test.skip

withSite(
  "every block of TypeScript on the pages compiles unchanged",
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ["check-code.js"], { cwd: site })
    expect(stdout).toMatch(/^\d+ blocks of \d+ pages compile$/m)
  },
  300_000,
)
