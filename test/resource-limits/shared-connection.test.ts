import { execFile } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { AuthwireAdapter, type AuthwireOptions, createAuthwireClient, RemoteJwt } from "@authwire/client"
import { type TcpProxy, tcpProxy } from "@authwire/test-support/connections/tcp-proxy.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals"

const repository = fileURLToPath(new URL("../..", import.meta.url))

// Each test has its own proxy, whose URL is unique, so that no channel of another test is shared.
describe("clients of one process", () => {
  const [first, second] = [staticKey(["all"]), staticKey(["all"])]
  let proxy: TcpProxy
  let options: AuthwireOptions & { apiKey: string }
  const authwire = useAuthwire("sqlite", { keys: [first, second] })
  beforeEach(async () => {
    proxy = await tcpProxy(Number(new URL(authwire.server.grpcUrl).port))
    options = { url: `http://127.0.0.1:${proxy.port}`, apiKey: first.text }
  })
  afterEach(() => proxy.close())

  test("adapters, token methods and clients with equal options share one connection", async () => {
    const { adapter, close } = createAuthwireClient({ ...options, timeoutMs: 20_000 })
    const salt = "a-salt"
    await Promise.all([
      adapter.getUser("nobody"),
      AuthwireAdapter(options).getUser("nobody"),
      AuthwireAdapter({ ...options, headers: {} }).getUser("nobody"),
      RemoteJwt(options).encode({ token: {}, salt, secret: "" }),
    ])
    expect(proxy.accepted).toBe(1)
    close()
  })

  test.each<[string, (more: AuthwireOptions) => AuthwireOptions]>([
    ["apiKey", (more) => ({ ...more, apiKey: second.text })],
    ["headers", (more) => ({ ...more, headers: { "x-application": "another" } })],
    ["url", (more) => ({ ...more, url: more.url.replace("127.0.0.1", "localhost") })],
    ["connections", (more) => ({ ...more, connections: 2 })],
  ])("another %s has a connection of its own", async (_, change) => {
    expect(await AuthwireAdapter(options).getUser("nobody")).toBeNull()
    expect(proxy.accepted).toBe(1)
    expect(await AuthwireAdapter(change(options)).getUser("nobody")).toBeNull()
    expect(proxy.accepted).toBeGreaterThan(1)
  })

  test("an unknown key cannot use a connection that another key opened", async () => {
    expect(await AuthwireAdapter(options).getUser("nobody")).toBeNull()
    const unknown = { ...options, apiKey: staticKey(["all"]).text }
    await expect(AuthwireAdapter(unknown).getUser("nobody")).rejects.toMatchObject({ reason: "API_KEY_INVALID" })
    await expect(AuthwireAdapter({ url: options.url }).getUser("nobody")).rejects.toMatchObject({
      reason: "API_KEY_MISSING",
    })
  })

  test("close() ends one client; the connection is closed with the last client", async () => {
    const [one, other] = [createAuthwireClient(options), createAuthwireClient(options)]
    for (const { adapter } of [one, other]) expect(await adapter.getUser("nobody")).toBeNull()
    one.close()
    // A second close() must not count for the other client.
    one.close()
    await expect(one.adapter.getUser("nobody")).rejects.toMatchObject({ code: "FAILED_PRECONDITION" })
    expect(await other.adapter.getUser("nobody")).toBeNull()
    expect([proxy.accepted, proxy.open]).toEqual([1, 1])
    other.close()
    await until(() => proxy.open === 0)
    const next = createAuthwireClient(options)
    expect(await next.adapter.getUser("nobody")).toBeNull()
    expect(proxy.accepted).toBe(2)
    next.close()
  })

  test("10,000 adapters: one connection, and they do not stay in memory", async () => {
    const { stdout } = await node(`
      const { AuthwireAdapter } = await import("@authwire/client")
      const make = async (count) => {
        for (let done = 0; done < count; done += 50)
          await Promise.all(Array.from({ length: 50 }, () => AuthwireAdapter(options).getUser("nobody")))
      }
      const used = () => {
        for (let count = 0; count < 3; count++) gc()
        const { heapUsed, external } = process.memoryUsage()
        return heapUsed + external
      }
      await make(1_000)
      const before = used()
      await make(10_000)
      console.log(used() - before)
    `)
    expect(proxy.accepted).toBeLessThan(10)
    // 200 bytes for each adapter. An adapter with its own connection takes 26 KB.
    expect(Number(stdout)).toBeLessThan(2_000_000)
  })

  test("copies of the package in one process share the connection", () =>
    withCopies(async (copies) => {
      const { stdout } = await node(`
        const makers = []
        for (const path of ${JSON.stringify(copies)}) makers.push((await import(path)).AuthwireAdapter)
        const found = []
        for (const make of makers) found.push(await make(options).getUser("nobody"))
        // An error of one copy's transport is one for the adapter of another copy.
        for (const make of makers) found.push(await make(options).getUser("").catch((error) => error.code))
        console.log(JSON.stringify([new Set(makers).size, ...found]))
      `)
      expect(JSON.parse(stdout)).toEqual([3, null, null, null, ...Array(3).fill("INVALID_ARGUMENT")])
      expect(proxy.accepted).toBe(1)
    }))

  test("an outage in one copy is thrown by the configuration of another copy, and does not sign the user out", () =>
    withCopies(async ([one, other]) => {
      await proxy.cut()
      const { stdout } = await node(`
        const { AuthwireAdapter } = await import(${JSON.stringify(one)})
        const { throwOutages, SessionUnavailable } = await import(${JSON.stringify(other)})
        const { Auth } = await import("@auth/core")
        const config = throwOutages({
          adapter: AuthwireAdapter({ ...options, timeoutMs: 500 }),
          session: { strategy: "database" },
          providers: [], basePath: "/auth", secret: "s", trustHost: true, logger: { error() {} },
        })
        const headers = { cookie: "authjs.session-token=token" }
        const error = await Auth(new Request("http://localhost/auth/session", { headers }), config).catch((error) => error)
        console.log(JSON.stringify([error.name, error instanceof SessionUnavailable]))
      `)
      expect(JSON.parse(stdout)).toEqual(["SessionUnavailable", true])
    }))

  /**
   * Copies the package into folders of the repository, so that its imports are found. Passes the paths of their
   * modules.
   */
  async function withCopies(work: (copies: readonly string[]) => Promise<void>): Promise<void> {
    const build = join(repository, "build")
    mkdirSync(build, { recursive: true })
    const folder = mkdtempSync(join(build, "copies-"))
    try {
      const names = ["a", "b", "c"]
      for (const name of names) {
        cpSync(join(repository, "client/dist"), join(folder, name), { recursive: true })
        cpSync(join(repository, "client/package.json"), join(folder, name, "package.json"))
      }
      await work(names.map((name) => join(folder, name, "index.js")))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

  /** Runs a script with `options` in a separate process. */
  function node(script: string) {
    const source = `const options = ${JSON.stringify(options)}\n${script}`
    const args = ["--expose-gc", "--input-type=module", "-e", source]
    return promisify(execFile)(process.execPath, args, { cwd: repository, env: {} })
  }
})
