import { execFile, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { blocksOf } from "@authwire/test-support/applications/pages.js"
import { sessionCookie } from "@authwire/test-support/applications/sign-in.js"
import { type Authwire, startAuthwire } from "@authwire/test-support/processes/authwire.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const root = fileURLToPath(new URL("../..", import.meta.url))
const page = "docs/start/nextjs.md"
const blocks = blocksOf(page)
const { dependencies } = JSON.parse(readFileSync(`${root}/examples/nextjs/package.json`, "utf8"))
const browser = { accept: "text/html", cookie: "" }

/** Follows the page in the newest application that `create-next-app` makes. */
describe("the quick start with Next.js, in a new application", () => {
  const folder = mkdtempSync(join(tmpdir(), "authwire-next-"))
  const app = join(folder, "shop")
  // Next.js reads .env.local unless NODE_ENV says that it is tested.
  const { NODE_ENV: _, ...own } = process.env
  const env = { ...own, NODE_OPTIONS: "", NEXT_TELEMETRY_DISABLED: "1", npm_config_yes: "true" }
  let authwire: Authwire
  let url: string
  let end: () => Promise<void> = async () => {}

  beforeAll(async () => {
    symlinkSync(root, join(folder, "authwire"))
    const commands = blocks.filter(({ language }) => language === "sh").map(({ code }) => code)
    expect(commands).toHaveLength(2)
    expect(commands[0]).toMatch(/^make -C authwire packages\nmake -C authwire run\n$/)
    execFileSync("make", ["-C", "authwire", "packages"], { cwd: folder, env, stdio: "pipe" })
    // Not every registry has the tag of the beta version.
    const install = String(commands[1]).replace("next-auth@beta", `next-auth@${dependencies["next-auth"]}`)
    await promisify(execFile)("bash", ["-euo", "pipefail", "-c", install], { cwd: folder, env })
    for (const { code } of blocks.filter(({ language }) => language.startsWith("ts"))) {
      const [, name] = /^\/\/ (\S+)\n/.exec(code) ?? []
      const file = join(app, String(name))
      // Next.js prefers page.tsx: a page of another name would be ignored.
      if (name === "app/page.tsx") expect(existsSync(file)).toBe(true)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, code)
    }
    // The layout of create-next-app loads fonts from another host.
    const layout = "export default ({ children }: LayoutProps<'/'>) => <html lang='en'><body>{children}</body></html>\n"
    writeFileSync(join(app, "app/layout.tsx"), layout)
    authwire = await startAuthwire("sqlite")
    await promisify(execFile)("npx", ["next", "build"], { cwd: app, env })
    const next = join(app, "node_modules/next/dist/bin/next")
    const server = spawn(process.execPath, [next, "start", "--hostname", "127.0.0.1", "--port", "0"], {
      cwd: app,
      env: {
        ...env,
        AUTH_TRUST_HOST: "true",
        AUTH_GITHUB_ID: "id",
        AUTH_GITHUB_SECRET: "s",
        AUTHWIRE_URL: authwire.server.grpcUrl,
      },
      stdio: ["ignore", "pipe", "ignore"],
    })
    let output = ""
    server.stdout.on("data", (chunk: Buffer) => {
      output += chunk
    })
    end = async () => {
      const closed = once(server, "close")
      server.kill("SIGTERM")
      await closed
    }
    const address = () => /http:\/\/127\.0\.0\.1:[1-9]\d*/.exec(output)?.[0]
    await until(async () => address() !== undefined && (await fetch(`${address()}/api/me`)).ok)
    url = String(address())
    // The registry may be slow: there are several hundred packages.
  }, 900_000)

  afterAll(async () => {
    await end()
    await authwire?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test("nobody is signed in, and a sign-in leads to the provider", async () => {
    expect(await (await fetch(`${url}/`, { headers: browser })).text()).toContain("stranger")
    expect(await (await fetch(`${url}/api/me`)).json()).toBeNull()
    const csrf = await fetch(`${url}/api/auth/csrf`)
    const cookie = csrf.headers.getSetCookie().map((line) => line.split(";", 1)[0])
    const signIn = await fetch(`${url}/api/auth/signin/github`, {
      method: "POST",
      headers: { cookie: cookie.join("; "), "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams((await csrf.json()) as Record<string, string>),
      redirect: "manual",
    })
    expect(signIn.headers.get("location")).toMatch(/^https:\/\/github\.com\/login\/oauth\/authorize\?/)
  })

  test("a signed-in user is greeted, and an outage is answered with 503", async () => {
    const user = await authwire.adapter.createUser({
      id: crypto.randomUUID(),
      name: "Ada",
      email: "ada@example.com",
      emailVerified: null,
    })
    const sessionToken = crypto.randomUUID()
    const expires = new Date(Date.now() + 3_600_000)
    await authwire.adapter.createSession({ sessionToken, userId: user.id, expires })
    const headers = { ...browser, cookie: `${sessionCookie}=${sessionToken}` }
    expect(await (await fetch(`${url}/`, { headers })).text()).toMatch(/Hello, (<!-- -->)?Ada/)
    await authwire.server.stop()
    const outage = await fetch(`${url}/`, { headers })
    expect([outage.status, outage.headers.get("content-type")]).toEqual([503, "text/html; charset=utf-8"])
    expect((await fetch(`${url}/api/me`, { headers: { cookie: headers.cookie } })).status).toBe(503)
  })
})
