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
import { expectOutagePages, stoppableService } from "./guide-outages.js"

const root = fileURLToPath(new URL("../..", import.meta.url))
const blocks = blocksOf("docs/start/sveltekit.md")
const [start, install, run] = blocks.filter(({ language }) => language === "sh").map(({ code }) => code)
const { devDependencies: site } = JSON.parse(readFileSync(`${root}/site/package.json`, "utf8"))

/**
 * What an application of SvelteKit 2 has before the guide begins: a page that shows who is signed in, one with the action
 * that signs in, and an endpoint.
 */
const application: Record<string, string> = {
  "package.json": JSON.stringify({
    private: true,
    type: "module",
    scripts: { dev: "vite dev --host 127.0.0.1 --port $PORT" },
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
  "src/routes/+page.svelte": "<script>const { data } = $props()</script>\n<p>{data.user?.email ?? 'nobody'}</p>\n",
  "src/routes/enter/+page.server.ts": `import { signIn } from "../../auth"\nexport const actions = { default: signIn }\n`,
  "src/routes/enter/+page.svelte": "<p>Sign in</p>\n",
  "src/routes/me/+server.ts":
    "export const GET = async ({ locals }) => Response.json((await locals.auth())?.user ?? null)\n",
}

const folder = mkdtempSync(join(tmpdir(), "authwire-sveltekit-"))
const app = join(folder, "shop")
const { NODE_OPTIONS: _, NODE_ENV: __, ...env } = process.env as Record<string, string>

beforeAll(async () => {
  symlinkSync(root, join(folder, "authwire"))
  const written = blocks
    .filter(({ language }) => language === "ts")
    .map(({ code }) => [String(/^\/\/ (\S+)\n/.exec(code)?.[1]), code] as const)
  for (const [name, text] of [...Object.entries(application), ...written]) {
    mkdirSync(dirname(join(app, name)), { recursive: true })
    writeFileSync(join(app, name), text)
  }
  expect(start).toMatch(/^make -C authwire packages\nmake -C authwire run\n$/)
  execFileSync("make", ["-C", "authwire", "packages"], { cwd: folder, env, stdio: "pipe" })
  await runBlock(String(install), app, env)
  execFileSync("npx", ["vite", "build"], { cwd: app, env, stdio: "pipe" })
  // The registry may be slow.
}, 900_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Starts the application by a command, and calls `use` when it has printed what it prints when it serves. */
async function withApplication(
  command: string,
  ready: RegExp,
  use: (url: string, output: () => string, service: Awaited<ReturnType<typeof stoppableService>>) => Promise<void>,
) {
  const service = await stoppableService()
  const url = `http://127.0.0.1:${await freePort()}`
  const { port } = new URL(url)
  // A process group of its own, which ends with what the shell has started.
  const child = spawn("bash", ["-euo", "pipefail", "-c", command], {
    cwd: app,
    env: { ...env, HOST: "127.0.0.1", PORT: port, ORIGIN: url, AUTHWIRE_URL: service.url, NO_COLOR: "1" },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  })
  const [closed, output] = [once(child, "close"), outputOf(child)]
  try {
    expect(await hasPrinted(child, output, ready)).toBe(true)
    await use(url, () => output.both, service)
  } catch (error) {
    throw new Error(output.both, { cause: error })
  } finally {
    process.kill(-(child.pid as number))
    await closed
    await service.remove()
  }
}

test("the application of the guide shows the user and, in an outage, the page that says so", async () => {
  await withApplication("AUTH_SECRET=x exec node build", /Listening on/, async (url, output, service) => {
    expect(await (await fetch(url)).text()).toContain("nobody")
    await expectOutagePages({ url, auth: "/auth", home: "/", output }, service)
  })
})

test("a load function, an action and an endpoint answer 503 in an outage, to browsers and to scripts of SvelteKit", async () => {
  await withApplication("AUTH_SECRET=x exec node build", /Listening on/, async (url, _output, service) => {
    const cookie = `authjs.session-token=${await service.newSession("Ada")}`
    expect(await (await fetch(`${url}/me`, { headers: { cookie } })).json()).toMatchObject({ name: "Ada" })
    await service.stop()
    const ask = async (path: string, headers: Record<string, string>, form?: Record<string, string>) => {
      const body = form && { method: "POST", body: new URLSearchParams(form) }
      const answer = await fetch(`${url}${path}`, { ...body, headers: { ...headers, origin: url } })
      return [answer.status, await answer.text()]
    }
    const page = [503, expect.stringContaining("<h1>Please wait a moment</h1>")]
    const [browser, script] = [{ accept: "text/html" }, { accept: "application/json" }]
    const entered = { providerId: "email", email: "ada@example.com" }
    expect({
      load: await ask("/", { ...browser, cookie }),
      endpoint: await ask("/me", { ...script, cookie }),
      // Nobody is signed in, so nothing before the action reads a session.
      action: await ask("/enter", browser, entered),
      enhanced: await ask("/enter", { ...script, "x-sveltekit-action": "true" }, entered),
    }).toEqual({
      load: page,
      endpoint: [503, expect.stringContaining("You have not been signed out.")],
      action: page,
      enhanced: [503, expect.stringMatching(/^\{"type":"error","error":\{"message":"We cannot .*"\}\}$/)],
    })
  })
})

test("the commands of the guide start the application", async () => {
  await withApplication(String(run), /ready in/, async (url) => {
    expect(await (await fetch(`${url}/auth/signin`)).text()).toContain("Sign in with E-mail")
  })
})
