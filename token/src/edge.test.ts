import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { describe, expect, test } from "@jest/globals"

/**
 * Runs a script in a separate Node process that resolves packages like an edge runtime. Returns what the script
 * printed.
 */
async function run(script: string, conditions: string[]): Promise<string> {
  const source = `
    import { registerHooks } from "node:module"
    const imported = new Set()
    registerHooks({
      resolve(specifier, context, next) {
        const resolved = next(specifier, context)
        imported.add(resolved.url)
        return resolved
      },
    })
    const entry = ${JSON.stringify(new URL("../dist/index.js", import.meta.url))}
    ${script}
  `
  const flags = conditions.map((condition) => `--conditions=${condition}`)
  const args = [...flags, "--input-type=module", "--no-warnings", "-e", source]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: {}, timeout: 20_000 })
  return stdout.trim()
}

const edges = [["workerd", "worker", "browser"], ["edge-light", "browser"], ["deno"], ["browser"]]

describe.each(edges)("with the conditions of an edge runtime (%s)", (...conditions) => {
  test("nothing that @authwire/token imports, directly or not, needs Node", async () => {
    const urls: string[] = JSON.parse(
      await run("await import(entry); console.log(JSON.stringify([...imported]))", conditions),
    )
    expect(urls.filter((url) => !url.startsWith("file:"))).toEqual([])
    expect(urls.filter((url) => /\/node\//.test(url))).toEqual([])
    const packages = new Set(urls.map((url) => url.match(/\/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1] ?? "ours"))
    expect([...packages].toSorted()).toEqual(["@panva/hkdf", "jose", "ours"])
  })
})

test("the package issues, decodes and finds tokens without the globals of Node", async () => {
  const script = `
    const { log } = console
    // Node loads Headers at its first use, which needs the globals that are deleted here.
    new Headers()
    for (const name of ["Buffer", "process", "global", "setImmediate", "clearImmediate", "require"]) delete globalThis[name]
    const { encode, decode, getToken, isDate } = await import(entry)
    const salt = "authjs.session-token"
    const token = await encode({ token: { sub: "1" }, secret: ["new", "old"], salt })
    const claims = await decode({ token, secret: ["newer", "new"], salt })
    const found = await getToken({ req: { headers: new Headers({ cookie: salt + "=" + token }) }, secret: "new" })
    const missing = await getToken({ req: { headers: { cookie: salt + "=" + token } } }).catch((error) => error.code)
    log(claims.sub, found.sub, missing, isDate("2030-01-01T00:00Z"))
  `
  expect(await run(script, ["workerd", "worker", "browser"])).toBe("1 1 MISSING_SECRET true")
})
