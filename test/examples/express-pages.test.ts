import { spawn } from "node:child_process"
import { once } from "node:events"
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { fileURLToPath } from "node:url"
import { ExpressAuth } from "@auth/express"
import { codeBelow } from "@authwire/test-support/applications/pages.js"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { freePort } from "@authwire/test-support/machine/free-port.js"
import { outputOf } from "@authwire/test-support/processes/output.js"
import { until } from "@authwire/test-support/until.js"
import { expect, test } from "@jest/globals"
import express from "express"
import { expectOutagePages, stoppableService } from "../site/guide-outages.js"

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

test("the application of the guide shows the user and, in an outage, the page that says so", async () => {
  const service = await stoppableService()
  const heading = "2. Add the adapter to Auth.js"
  const [code = ""] = codeBelow("docs/start/express.md", heading, "ts")
  const [, start = ""] = codeBelow("docs/start/express.md", heading)
  const port = await freePort()
  const folder = `${root}/build/express-start`
  mkdirSync(folder, { recursive: true })
  writeFileSync(`${folder}/app.ts`, code.replace("app.listen(3000)", `app.listen(${port})`))
  // A process group of its own, which ends with what the shell has started.
  const child = spawn("bash", ["-euo", "pipefail", "-c", start], {
    cwd: folder,
    env: { PATH: process.env.PATH, AUTHWIRE_URL: service.url },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  })
  const [closed, output] = [once(child, "close"), outputOf(child)]
  const url = `http://127.0.0.1:${port}`
  try {
    await until(() =>
      fetch(`${url}/auth/providers`).then(
        () => true,
        () => false,
      ),
    )
    const signIn = await fetch(`${url}/auth/signin`)
    expect([signIn.status, await signIn.text()]).toEqual([200, expect.stringContaining("Sign in with E-mail")])
    expect(await (await fetch(url)).json()).toBeNull()
    await expectOutagePages({ url, auth: "/auth", home: "/", output: () => output.both }, service)
  } finally {
    process.kill(-(child.pid as number))
    await closed
    await service.remove()
    rmSync(folder, { recursive: true, force: true })
  }
})
