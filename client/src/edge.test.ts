import { execFile } from "node:child_process"
import { createRequire } from "node:module"
import { promisify } from "node:util"
import { expect, test } from "@jest/globals"

/**
 * Imports an entry point of the sources in a separate Node process and runs a script with it. Returns what the script
 * printed.
 *
 * @param before - Code that runs before the import.
 */
async function run(entry: string, script: string, before = ""): Promise<string> {
  const hook = JSON.stringify(new URL("../test/typescript-hook.mjs", import.meta.url))
  const source = `
    ${before}
    const { imported } = await import(${hook})
    const client = await import(${JSON.stringify(new URL(entry, import.meta.url))})
    ${script}
  `
  const args = ["--input-type=module", "--no-warnings", "-e", source]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: {}, timeout: 20_000 })
  return stdout.trim()
}

const graph = async (entry: string): Promise<string[]> =>
  JSON.parse(await run(entry, "console.log(JSON.stringify([...imported]))"))

/** Whether an edge runtime cannot import a module. */
const nodeOnly = (url: string) => url.startsWith("node:") || /@grpc\/grpc-js|\/grpc-[^/]*\.ts$|connect-node/.test(url)

test("nothing that @authwire/client/edge imports, directly or not, needs Node, as @authwire/client does", async () => {
  const [edge, node] = await Promise.all([graph("./edge.ts"), graph("./index.ts")])
  expect(edge.filter(nodeOnly)).toEqual([])
  expect(node.filter(nodeOnly).length).toBeGreaterThan(2)
  for (const urls of [edge, node]) {
    expect(urls.some((url) => url.endsWith("/client/src/adapter/adapter.ts"))).toBe(true)
    expect(urls.filter((url) => url.endsWith("/user_service_pb.js"))).toHaveLength(1)
    // The rules of the schema's fields are larger than the client, and @auth/core has only types for it.
    expect(urls.filter((url) => /\/buf\/validate\/|\/@auth\/core\//.test(url))).toEqual([])
  }
})

test("@authwire/client/edge works without the globals of Node", async () => {
  const script = `
    const { log } = console
    let asked
    const fetch = async (url) => {
      asked = url
      const headers = new Headers({ "content-type": "application/proto" })
      return { status: 200, headers, arrayBuffer: async () => new ArrayBuffer(0) }
    }
    // Node loads Headers at its first use, which needs the globals that are deleted here.
    new Headers()
    for (const name of ["Buffer", "process", "global", "setImmediate", "clearImmediate", "require"]) delete globalThis[name]
    const adapter = client.AuthwireAdapter({ url: "https://authwire.test", fetch })
    const error = await adapter.getUser("u1").catch((error) => error)
    log(asked, error.message)
  `
  expect(await run("./edge.ts", script)).toBe(
    "https://authwire.test/authwire.v1.UserService/GetUser getUser: INTERNAL: the service answered without a user",
  )
})

/**
 * Returns the field `cache` of the `fetch` request in a runtime that a script has changed before the client was loaded.
 */
const cacheModeIn = (runtime: string) =>
  run(
    "./edge.ts",
    `let init
    const fetch = async (_, options) => {
      init = options
      return new Response()
    }
    await client.AuthwireAdapter({ url: "https://authwire.test", fetch }).getUser("u1").catch(() => {})
    console.log("cache" in init ? init.cache : "absent")`,
    runtime,
  )

test.each([
  ["knows cache modes", "", "no-store"],
  // Like workerd without its flag cache_option_enabled.
  [
    "throws if the field is set",
    `globalThis.Request = class extends Request {
      constructor(input, init) {
        if (init && "cache" in init) throw new Error("The 'cache' field on 'RequestInitializerDict' is not implemented.")
        super(input, init)
      }
    }`,
    "absent",
  ],
  ["ignores the field", "globalThis.Request = class {}", "absent"],
  ["has no Request", "delete globalThis.Request", "absent"],
  ["is that of Next.js", 'process.env.NEXT_RUNTIME = "nodejs"', "no-cache"],
])("where the runtime %s", async (_, runtime, mode) => {
  expect(await cacheModeIn(runtime)).toBe(mode)
})

const packageOf = (name: string) => createRequire(import.meta.url)(`${name}/package.json`)

/**
 * Returns the file that a runtime with these conditions loads for the package (Node's rule: the first matching
 * condition).
 */
function entryFor(conditions: readonly string[]): string {
  const entries = Object.entries<string>(packageOf("@authwire/client").exports["."])
  return entries.find(([condition]) => condition === "default" || conditions.includes(condition))?.[1] ?? "none"
}

test.each([
  ["the edge runtime of Next.js", ["edge-light", "worker", "browser", "import"], "./dist/edge.js"],
  ["workerd", ["workerd", "worker", "browser", "import"], "./dist/edge.js"],
  ["a service worker", ["worker", "browser", "import"], "./dist/edge.js"],
  ["a bundler for browsers", ["browser", "import"], "./dist/edge.js"],
  ["Node", ["node", "import"], "./dist/index.js"],
  ["a bundler for Node", ["node", "require"], "./dist/index.js"],
  ["Bun", ["bun", "node", "import"], "./dist/index.js"],
  ["Deno", ["deno", "node", "import"], "./dist/index.js"],
  ["TypeScript", ["types", "node", "import"], "./dist/index.d.ts"],
])("%s loads the entry point of @authwire/client that it can run", (_, conditions, file) => {
  expect(entryFor(conditions)).toBe(file)
})

test("@authwire/client loads the client over fetch in a runtime without sockets", async () => {
  const source = 'console.log(Object.keys(await import("@authwire/client")).join())'
  const args = ["--conditions=edge-light", "--input-type=module", "--no-warnings", "-e", source]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: {} })
  const names =
    "AuthwireAdapter,AuthwireError,EventKind,RemoteJwt,SessionUnavailable,createAuthwireClient,isDisabled,nextAuth4Options,storeTokens,throwOutages,unavailableResponse"
  expect(stdout.trim()).toBe(names)
})
