import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { blocksOf, runBlock } from "@authwire/test-support/applications/pages.js"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { hasPrinted, outputOf } from "@authwire/test-support/processes/output.js"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import { expectOutagePages, stoppableService, withPrintedLinks } from "./guide-outages.js"

const root = fileURLToPath(new URL("../..", import.meta.url))
const blocks = blocksOf("docs/start/sveltekit.md")
const { devDependencies: site } = JSON.parse(readFileSync(`${root}/site/package.json`, "utf8"))

/** What an application of SvelteKit 2 has before the guide begins: a page that shows who is signed in. */
const application: Record<string, string> = {
  "package.json": JSON.stringify({
    private: true,
    type: "module",
    devDependencies: {
      "@sveltejs/adapter-node": "5",
      "@sveltejs/kit": site["@sveltejs/kit"],
      "@sveltejs/vite-plugin-svelte": "6",
      svelte: "5",
      vite: "7",
    },
  }),
  "vite.config.js": `import { sveltekit } from "@sveltejs/kit/vite"\nexport default { plugins: [sveltekit()] }\n`,
  "svelte.config.js": `import adapter from "@sveltejs/adapter-node"\nexport default { kit: { adapter: adapter() } }\n`,
  "src/app.html": "<!doctype html><html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>\n",
  "src/routes/+page.server.ts":
    "export const load = async ({ locals }) => ({ email: (await locals.auth())?.user?.email ?? 'nobody' })\n",
  "src/routes/+page.svelte": "<script>const { data } = $props()</script>\n<p>{data.email}</p>\n",
}

const folder = mkdtempSync(join(tmpdir(), "authwire-sveltekit-"))
const app = join(folder, "shop")
const { NODE_OPTIONS: _, NODE_ENV: __, ...env } = process.env as Record<string, string>

beforeAll(async () => {
  symlinkSync(root, join(folder, "authwire"))
  const written = blocks
    .flatMap(({ language, code }) => (language === "ts" ? [code] : []))
    .map((code) => {
      const name = String(/^\/\/ (\S+)\n/.exec(code)?.[1])
      return [name, name === "src/auth.ts" ? withPrintedLinks(code) : code] as const
    })
  for (const [name, text] of [...Object.entries(application), ...written]) {
    mkdirSync(dirname(join(app, name)), { recursive: true })
    writeFileSync(join(app, name), text)
  }
  const [start, install] = blocks.filter(({ language }) => language === "sh").map(({ code }) => code)
  expect(start).toMatch(/^make -C authwire packages\nmake -C authwire run\n$/)
  execFileSync("make", ["-C", "authwire", "packages"], { cwd: folder, env, stdio: "pipe" })
  await runBlock(String(install), app, env)
  execFileSync("npx", ["vite", "build"], { cwd: app, env, stdio: "pipe" })
  // The registry may be slow.
}, 900_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test("the application of the guide shows the user and, in an outage, the page that says so", async () => {
  const service = await stoppableService()
  const url = `http://127.0.0.1:${await freePort()}`
  const child = spawn(process.execPath, ["build"], {
    cwd: app,
    env: {
      ...env,
      HOST: "127.0.0.1",
      PORT: new URL(url).port,
      ORIGIN: url,
      AUTH_SECRET: "x",
      AUTHWIRE_URL: service.url,
    },
    stdio: ["ignore", "pipe", "pipe"],
  })
  const [closed, output] = [once(child, "close"), outputOf(child)]
  try {
    expect(await hasPrinted(child, output, /Listening on/)).toBe(true)
    expect(await (await fetch(url)).text()).toContain("nobody")
    await expectOutagePages({ url, auth: "/auth", home: "/", output: () => output.both }, service)
  } catch (error) {
    throw new Error(output.both, { cause: error })
  } finally {
    child.kill()
    await closed
    await service.remove()
  }
})
