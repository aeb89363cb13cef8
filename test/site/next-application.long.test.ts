import { execFile, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { blocksOf } from "@authwire/test-support/applications/pages.js"
import { sessionCookie } from "@authwire/test-support/applications/sign-in.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { expectOutagePages, stoppableService } from "./guide-outages.js"

const root = fileURLToPath(new URL("../..", import.meta.url))
const page = "docs/start/nextjs.md"
const blocks = blocksOf(page)
const { dependencies } = JSON.parse(readFileSync(`${root}/examples/nextjs/package.json`, "utf8"))
const browser = { accept: "text/html" }

/** Follows the page in the newest application that `create-next-app` makes. */
describe("the quick start with Next.js, in a new application", () => {
  const folder = mkdtempSync(join(tmpdir(), "authwire-next-"))
  const app = join(folder, "shop")
  // Next.js reads .env.local unless NODE_ENV says that it is tested.
  const { NODE_ENV: _, ...own } = process.env
  const env = { ...own, NODE_OPTIONS: "", NEXT_TELEMETRY_DISABLED: "1", npm_config_yes: "true" }
  let service: Awaited<ReturnType<typeof stoppableService>>
  let url: string
  let output = ""
  let end: () => Promise<void> = async () => {}

  beforeAll(async () => {
    symlinkSync(root, join(folder, "authwire"))
    const commands = blocks.filter(({ language }) => language === "sh").map(({ code }) => code)
    expect(commands).toHaveLength(2)
    expect(commands[0]).toMatch(/^make -C authwire packages\nmake -C authwire run\n$/)
    execFileSync("make", ["-C", "authwire", "packages"], { cwd: folder, env, stdio: "pipe" })
    const install = String(commands[1])
    // The version of the example, whose updates come by themselves.
    expect(install).toContain(` next-auth@${dependencies["next-auth"]} `)
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
    service = await stoppableService()
    await promisify(execFile)("npx", ["next", "build"], { cwd: app, env })
    const next = join(app, "node_modules/next/dist/bin/next")
    const server = spawn(process.execPath, [next, "start", "--hostname", "127.0.0.1", "--port", "0"], {
      cwd: app,
      env: {
        ...env,
        AUTH_TRUST_HOST: "true",
        AUTHWIRE_URL: service.url,
      },
      stdio: ["ignore", "pipe", "ignore"],
    })
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
    await service?.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  test("nobody is signed in", async () => {
    expect(await (await fetch(`${url}/`, { headers: browser })).text()).toContain("stranger")
    expect(await (await fetch(`${url}/api/me`)).json()).toBeNull()
  })

  test("a user is signed in and, in an outage, gets the page that says so", async () => {
    await expectOutagePages({ url, auth: "/api/auth", home: "/api/me", output: () => output }, service)
  })

  test("every page answers 503 to a signed-in user in an outage, and the handlers do so", async () => {
    await service.start()
    const headers = { ...browser, cookie: `${sessionCookie}=${await service.newSession("Ada")}` }
    const greeting = async () => (await fetch(`${url}/`, { headers })).text()
    await until(async () => /Hello, (<!-- -->)?Ada/.test(await greeting()))
    await service.stop()
    expect((await fetch(`${url}/`, { headers })).status).toBe(503)
    expect((await fetch(`${url}/api/me`, { headers: { cookie: headers.cookie } })).status).toBe(503)
  })
})
