import { spawn } from "node:child_process"
import { once } from "node:events"
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { fileURLToPath } from "node:url"
import { ExpressAuth } from "@auth/express"
import { codeBelow } from "@authwire/test-support/applications/pages.js"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { startAuthwire } from "@authwire/test-support/processes/authwire.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"
import express from "express"

const root = fileURLToPath(new URL("../..", import.meta.url))

const pages = globSync(["*.md", "{client,docs,docs/start,examples/*}/*.md", "client/src/**/*.ts"], { cwd: root })
const mounted = pages.flatMap((page) =>
  [...readFileSync(`${root}/${page}`, "utf8").matchAll(/app\.use\("([^"]+)",.*ExpressAuth\(/g)].map(
    ([, path = ""]) => ({ page, path }),
  ),
)

test("the pages show how to mount Auth.js in Express", () => expect(mounted.length).toBeGreaterThan(3))

// Auth.js derives the path of its actions from the path at which Express mounts it.
test.each(mounted)("$page mounts Auth.js at $path, where it finds its actions", async ({ path }) => {
  const app = express().use(path, ExpressAuth({ providers: [], secret: "x", trustHost: true }))
  const server = createServer(app)
  const port = await listen(server)
  try {
    const response = await fetch(`http://127.0.0.1:${port}/auth/providers`)
    expect([response.status, await response.json()]).toEqual([200, {}])
  } finally {
    server.close()
  }
})

test("the application of the quick start answers with the signed-in user, and with 503 in an outage", async () => {
  const authwire = await startAuthwire("sqlite")
  const { adapter, server } = authwire
  const user = await adapter.createUser({ id: crypto.randomUUID(), email: "quick@example.com", emailVerified: null })
  const expires = new Date(Date.now() + 60_000)
  await adapter.createSession({ sessionToken: "quick-start", userId: user.id, expires })
  const [code = ""] = codeBelow("docs/start/express.md", "2. Add the adapter to Auth.js", "ts")
  const port = await freePort()
  const folder = `${root}/build/express-start`
  mkdirSync(folder, { recursive: true })
  writeFileSync(`${folder}/app.ts`, code.replace("app.listen(3000)", `app.listen(${port})`))
  const secrets = { AUTH_SECRET: "x", AUTH_GITHUB_ID: "x", AUTH_GITHUB_SECRET: "x" }
  const child = spawn(process.execPath, [`${folder}/app.ts`], {
    env: { PATH: process.env.PATH, ...secrets, AUTHWIRE_URL: server.grpcUrl },
    stdio: "ignore",
  })
  const closed = once(child, "close")
  const ask = (path: string) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers: { cookie: "authjs.session-token=quick-start" } })
  try {
    await until(() =>
      ask("/auth/providers").then(
        () => true,
        () => false,
      ),
    )
    const signIn = await ask("/auth/signin")
    expect([signIn.status, await signIn.text()]).toEqual([200, expect.stringContaining("Sign in with GitHub")])
    expect(await (await ask("/me")).json()).toMatchObject({ email: "quick@example.com" })
    await authwire.close()
    const { status, headers } = await ask("/me")
    expect([status, headers.get("retry-after")]).toEqual([503, "2"])
  } finally {
    child.kill()
    await closed
    await authwire.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
