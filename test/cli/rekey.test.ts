import { type ChildProcess, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { runProcess, type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

const count = 600
/** Writes to accounts of one user are executed one after another. */
const owners = 30
const [old, fresh] = [randomBytes(32).toString("base64"), randomBytes(32).toString("hex")] as const
const command = fileURLToPath(new URL("../../server/bin/authwire.js", import.meta.url))

type Account = Parameters<AuthwireClient["adapter"]["linkAccount"]>[0]

const target = serviceDatabase()

describe("authwire rekey", () => {
  let database: TestDatabase
  let server: ServerProcess
  let client: AuthwireClient
  const accounts = new Map<string, Account>()

  const serveWith = async (...keys: string[]) => {
    const env = { AUTHWIRE_ENCRYPTION_KEYS: keys.join(", ") }
    server = await startServer({ databaseUrl: database.url, args: ["--log-level=warn"], env })
    client = createAuthwireClient({ url: server.grpcUrl, timeoutMs: 20_000 })
  }
  const stop = async () => {
    client.close()
    await server.stop()
  }
  const link = async (id: string, access_token: string) => {
    const userId = `u${Number(id.slice(1)) % owners}`
    const account: Account = { userId, type: "oidc", provider: "p", providerAccountId: id, access_token }
    await client.adapter.linkAccount({ ...account, oauth_token_secret: `s-${id}` })
    accounts.set(id, { ...account, oauth_token_secret: `s-${id}` })
  }
  /** The ids of the keys that encrypt the accounts, with the number of accounts of each. */
  const keyIds = async () => {
    const rows = await database.query("SELECT access_token FROM accounts")
    const ids = rows.map(({ access_token }) => /^sealed\.1\.([\w-]+)\./.exec(String(access_token))?.[1] ?? "plain")
    return Object.fromEntries([...new Set(ids)].map((id) => [id, ids.filter((each) => each === id).length]))
  }
  const expectAll = async () => {
    for (const [id, account] of accounts) expect(await client.adapter.getAccount(id, "p")).toEqual(account)
  }
  const env = () => ({
    AUTHWIRE_DATABASE_URL: database.url,
    AUTH_SECRET: "x".repeat(32),
    AUTHWIRE_ENCRYPTION_KEYS: `${fresh},${old}`,
  })

  beforeAll(async () => {
    database = await createDatabase(target)
    await serveWith(old)
    for (let owner = 0; owner < owners; owner++) {
      await client.adapter.createUser({ id: `u${owner}`, email: "", emailVerified: null })
    }
    for (let start = 0; start < count; start += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, index) => link(`a${start + index}`, `t-${start + index}`)))
    }
    await stop()
  })
  afterAll(async () => {
    await stop()
    await database.drop()
  })

  test("killed during its run, under load, and run again, it loses nothing", async () => {
    await serveWith(fresh, old)
    let loading = true
    const load = (async () => {
      for (let index = 0; loading; index = (index + 7) % count) {
        await link(`a${index}`, `t-${index}-${crypto.randomUUID()}`)
        const account = await client.adapter.getAccount(`a${(index * 3) % count}`, "p")
        expect(account).toEqual(accounts.get(`a${(index * 3) % count}`))
      }
    })()

    // Killed when it has processed some accounts but not all.
    const child: ChildProcess = spawn(process.execPath, [command, "rekey"], {
      env: { PATH: process.env.PATH, ...env() },
      stdio: "ignore",
    })
    const ended = once(child, "exit")
    let before = await keyIds()
    while (Object.keys(before).length < 2) before = await keyIds()
    child.kill("SIGKILL")
    expect(await ended).toEqual([null, "SIGKILL"])
    const half = await keyIds()
    expect(Object.keys(half)).toHaveLength(2)

    const { code, stdout } = await runProcess(["rekey"], env())
    loading = false
    await load
    expect(stdout).toMatch(/^rekeyed \d+ of 600 rows\n$/)
    expect(code).toBe(0)
    expect(Object.keys(await keyIds())).toHaveLength(1)
    await expectAll()
    await stop()

    // The old key is no longer needed.
    await serveWith(fresh)
    await expectAll()
  })

  test("without the right key nothing is lost or revealed: it reports that, and the service rejects calls", async () => {
    const keyless = { ...env(), AUTHWIRE_ENCRYPTION_KEYS: old }
    const { code, stdout } = await runProcess(["rekey"], keyless)
    expect(stdout).toBe(
      "rekeyed 0 of 600 rows\n600 rows were not changed, because they are not decrypted by any configured key\n",
    )
    expect(code).toBe(1)
    await expectAll()
    await stop()
    await serveWith(old)
    await expect(client.adapter.getAccount("a1", "p")).rejects.toMatchObject({
      code: "FAILED_PRECONDITION",
      reason: "ENCRYPTION_KEY_MISSING",
    })
    await stop()
    expect(server.output()).toMatch(/"level":50.*ENCRYPTION_KEY_MISSING.*no key has the id [\w-]{8}/)
    await serveWith(fresh)
  })
})
