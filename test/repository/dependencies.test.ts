import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { createGunzip } from "node:zlib"
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals"

const scripts = fileURLToPath(new URL("../../scripts/dependencies", import.meta.url))
const advisories = "/-/npm/v1/security/advisories/bulk"

// A repository with one published and one unpublished package. `left` depends on `seat` and on its own `deep`, and that
// one on a platform-specific package. The other `deep` is a development dependency.
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "authwire-dependencies-"))
  const lib = {
    name: "lib",
    version: "1.0.0",
    dependencies: { left: "^2.0.0" },
    devDependencies: { deep: "1" },
    peerDependencies: { host: "3" },
  }
  const app = { name: "app", version: "1.0.0", private: true, dependencies: { strange: "1" } }
  const whole = { name: "whole", workspaces: ["lib", "app"] }
  write("package.json", whole)
  write("lib/package.json", lib)
  write("app/package.json", app)
  write("package-lock.json", {
    name: "whole",
    lockfileVersion: 3,
    requires: true,
    packages: {
      "": whole,
      lib,
      app,
      "node_modules/lib": { resolved: "lib", link: true },
      "node_modules/app": { resolved: "app", link: true },
      "node_modules/left": {
        version: "2.0.1",
        license: "MIT",
        dependencies: { deep: "*" },
        peerDependencies: { seat: "1", absent: "1" },
        peerDependenciesMeta: { absent: { optional: true } },
      },
      "node_modules/seat": { version: "1.0.0", license: "MIT" },
      "node_modules/deep": { version: "1.0.0", dev: true, license: "GPL-3.0-only" },
      "node_modules/left/node_modules/deep": {
        version: "4.5.6",
        license: "(MIT OR GPL-3.0-only)",
        hasInstallScript: true,
        optionalDependencies: { "deep-linux": "*" },
      },
      "node_modules/left/node_modules/deep-linux": {
        version: "4.5.6",
        license: "(ISC AND MIT)",
        optional: true,
        os: ["linux"],
      },
      "node_modules/host": { version: "3.0.0", license: "MIT" },
      "node_modules/strange": { version: "1.0.0", license: "Strange" },
    },
  })
  write("scripts/dependencies/known.json", {
    licences: ["ISC", "MIT"],
    reasons: { lib: { left: "Pads.", host: "Loads it." } },
  })
  mkdirSync(join(folder, "docs"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test("licences: allowed ones pass, unpublished packages do not count, and another one fails, deep down too", async () => {
  expect(await run("licences")).toEqual({ code: 0, output: "licences: 5 packages, under ISC, MIT\n" })
  change("package-lock.json", ({ packages }) => {
    packages["node_modules/left/node_modules/deep"] = { version: "4.5.6", license: "(MIT AND Strange)" }
  })
  const problem = expect.stringContaining("deep@4.5.6 is under (MIT AND Strange)")
  expect(await run("licences")).toEqual({ code: 1, output: problem })
})

describe("page", () => {
  test("has an item for each direct dependency, with all its dependencies", async () => {
    write("node_modules/left/build/left.node", "")
    expect(await run("page")).toEqual({ code: 0, output: "" })
    const rows = readFileSync(join(folder, "docs/dependencies.md"), "utf8").match(/^- `.*/gm)
    expect(rows).toEqual([
      "- `lib`: 1 direct, 3 third-party in total; 1 by platform; native code: `left`, prebuilt, by platform; install scripts: `deep`",
      "- `left` (MIT, 2 + 1 by platform): Pads.",
      "- `host` (peer: the application has it; MIT, 0): Loads it.",
    ])
  })

  test("a missing reason fails", async () => {
    change("scripts/dependencies/known.json", (known) => {
      known.reasons.lib = {}
    })
    const problem = expect.stringContaining("no reason is given why lib needs left")
    expect(await run("page")).toMatchObject({ code: 1, output: problem })
  })
})

describe("audit", () => {
  test("a severe advisory fails, also for a transitive dependency", async () => {
    const { code, output, asked } = await audit(200, { deep: [advisory("high")] })
    expect(output).toContain("deep, high: <5 It leaks (https://example.com/1)")
    expect(code).toBe(1)
    const versions = { left: ["2.0.1"], deep: ["4.5.6"], "deep-linux": ["4.5.6"], seat: ["1.0.0"], host: ["3.0.0"] }
    expect(asked).toEqual(versions)
  })

  test("with --all every lock file is asked about, and a severe advisory about a tool fails too", async () => {
    const tools = { name: "tools", version: "1.0.0", dependencies: { hammer: "1" } }
    write("examples/tools/package.json", tools)
    const packages = { "": tools, "node_modules/hammer": { version: "1.2.3" } }
    write("examples/tools/package-lock.json", { ...tools, lockfileVersion: 3, requires: true, packages })
    write("examples/go/go.sum", "")
    const advisories = { hammer: [advisory("critical")] }
    const { code, output, asked } = await audit(200, advisories, "--all")
    expect(output).toContain("audit: examples/tools/package-lock.json: hammer, critical: <5 It leaks")
    expect(output).toContain("audit: package-lock.json: nothing severe.")
    expect(output).toContain("audit: npm knows nothing of examples/go/go.sum\n")
    expect({ code, asked }).toEqual({ code: 1, asked: expect.objectContaining({ strange: ["1.0.0"] }) })
  })

  test("with --required, no answer is a failure, which names what was not asked about", async () => {
    const { code, output } = await audit(405, "", "--all", "--required")
    expect(output).toContain("audit: not done, the registry answers 405: package-lock.json\n")
    expect(code).toBe(1)
  })

  const advisory = (severity: string) => ({
    id: 1,
    url: "https://example.com/1",
    title: "It leaks",
    severity,
    vulnerable_versions: "<5",
  })

  /** Runs the audit with a registry that gives this response. `asked` is the request that the registry received. */
  async function audit(status: number, answer: Record<string, unknown> | "", ...options: string[]) {
    let asked: unknown
    const registry = createServer(async (request, response) => {
      const audits = request.url === advisories
      if (audits) asked = JSON.parse(await text(request.pipe(createGunzip())))
      const told = Object.entries(answer).filter(([name]) => name in ((asked as object | undefined) ?? {}))
      response.writeHead(audits ? status : 404).end(audits ? JSON.stringify(Object.fromEntries(told)) : "{}")
    })
    registry.listen(0, "127.0.0.1")
    await once(registry, "listening")
    try {
      const { port } = registry.address() as AddressInfo
      return { ...(await run("audit", { npm_config_registry: `http://127.0.0.1:${port}` }, options)), asked }
    } finally {
      registry.close()
    }
  }
})

async function run(script: string, variables: Record<string, string> = {}, options: string[] = []) {
  const child = spawn(process.execPath, [join(scripts, `${script}.js`), folder, ...options], {
    env: { PATH: process.env.PATH, HOME: folder, ...variables },
    stdio: ["ignore", "pipe", "pipe"],
  })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
  return { code: code as number, output: stdout + stderr }
}

function write(path: string, content: unknown): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), JSON.stringify(content))
}

/** The parts of the files that tests change. */
interface Content {
  reasons: Record<string, Record<string, string>>
  packages: Record<string, { version: string; license: string }>
}

function change(path: string, by: (content: Content) => void): void {
  const content = JSON.parse(readFileSync(join(folder, path), "utf8"))
  by(content)
  write(path, content)
}
