import { spawn } from "node:child_process"
import { once } from "node:events"
import { setImmediate as nextTurn } from "node:timers/promises"
import { createAuthwireClient } from "@authwire/client"
import { ApiKeyService } from "@authwire/proto"
import { wireError } from "@authwire/test-support/connections/wire-error.js"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { createKey } from "@authwire/test-support/processes/keys.js"
import { hasPrinted, outputOf } from "@authwire/test-support/processes/output.js"
import { run, runProcess, staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { beforeAll, describe, expect, test } from "@jest/globals"

describe("authwire tenants delete", () => {
  const authwire = useAuthwire(serviceDatabase(), { keys: true })
  const command = (...args: string[]) => run(args, { AUTHWIRE_DATABASE_URL: authwire.database.url })
  beforeAll(async () => void (await command("tenants", "create", "acme")))
  const count = async () => Number((await authwire.database.query("SELECT COUNT(*) AS n FROM users"))[0]?.n)

  test("asks for the name again, and with --dry-run shows what there is", async () => {
    const acme = authwire.clientOf(await createKey(authwire.database, "all", "--tenant=acme"))
    const own = authwire.client
    for (let n = 0; n < 5; n++) await acme.users.createUser({ id: `${n}` })
    await own.users.createUser({ id: "other" })
    const dry = await command("tenants", "delete", "acme", "--dry-run")
    expect(dry).toMatchObject({ code: 0, stderr: "dry run: nothing was deleted\n" })
    expect(dry.stdout).toMatch(/^users: 5 would be deleted$/m)
    const silent = runProcess(["tenants", "delete", "acme"], { AUTHWIRE_DATABASE_URL: authwire.database.url })
    const other = command("tenants", "delete", "acme", "--confirm=default")
    for (const { code, stderr } of await Promise.all([silent, other])) {
      expect(code).toBe(2)
      expect(stderr).toMatch(/authwire: tenants delete: the name that was repeated is not acme: nothing was deleted\n$/)
    }
    expect(await command("tenants", "delete", "default", "--confirm=default")).toMatchObject({ code: 2 })
    expect(await command("tenants", "delete", "nowhere", "--confirm=nowhere")).toMatchObject({ code: 1 })
    expect(await count()).toBe(6)
    await expect(acme.users.getUser({ id: "0" })).resolves.toMatchObject({ user: { id: "0" } })

    const { code, stdout, stderr } = await command("tenants", "delete", "acme", "--confirm=acme", "--batch=2")
    expect(code).toBe(0)
    expect(stdout).toBe(
      "idempotency_keys: 5 deleted\nusers: 5 deleted\napi_keys: 1 deleted\nevents: 5 deleted\ntenants: 1 deleted\ndeleted acme\n",
    )
    expect(stderr).toMatch(/^the keys of acme are revoked; /)
    await expect(acme.users.getUser({ id: "0" })).rejects.toThrow("revoked")
    await expect(own.users.getUser({ id: "other" })).resolves.toMatchObject({ user: { id: "other" } })
    expect((await command("tenants", "list")).stdout).not.toContain("acme")
    acme.close()
    own.close()
  })
})

describe("authwire tenants delete, of a tenant whose keys go on writing", () => {
  // The keys of the configuration are not revoked.
  const [writing, making] = [
    staticKey(["all"], { tenant: "busy" }),
    staticKey(["all", "keys:write"], { tenant: "busy" }),
  ]
  const authwire = useAuthwire(serviceDatabase(), { keys: [staticKey(["all"]), writing, making] })
  const env = () => ({ AUTHWIRE_DATABASE_URL: authwire.database.url })
  const args = ["tenants", "delete", "busy", "--confirm=busy"]

  test("S-56: leaves nothing, and no write is accepted after it, also if it was killed before", async () => {
    const urls = [authwire.server.grpcUrl, (await authwire.another()).grpcUrl]
    let [accepted, refused, isOver] = [0, 0, false]
    const reasons = new Set<string>()
    /** Makes calls, one after the other, until the end. */
    async function write(make: () => Promise<unknown>): Promise<void> {
      while (!isOver) {
        try {
          await make()
          accepted++
        } catch (error) {
          refused++
          reasons.add(wireError(error).message)
          await nextTurn()
        }
      }
    }
    authwire.later(async () => {
      isOver = true
    })
    const writers: Promise<void>[] = []
    const writeWith = (url: string, apiKey: string) => {
      const client = createAuthwireClient({ url, apiKey })
      authwire.later(async () => client.close())
      writers.push(write(() => client.users.createUser({ id: crypto.randomUUID() })))
      writers.push(
        write(() =>
          client.verificationTokens.createVerificationToken({
            ...{ identifier: "i", token: crypto.randomUUID(), expires: { seconds: 4_000_000_000n } },
          }),
        ),
      )
    }
    for (const url of urls) {
      writeWith(url, writing.text)
      const keys = createClient(ApiKeyService, createGrpcTransport({ baseUrl: url }))
      const headers = { authorization: `Bearer ${making.text}` }
      let made = 0
      writers.push(
        write(async () => {
          const { key } = await keys.createApiKey({ name: "further", scopes: ["all"] }, { headers })
          if (made++ === 0) writeWith(url, key)
        }),
      )
    }
    await until(() => accepted > 100)

    const bin = new URL("../../server/bin/authwire.js", import.meta.url).pathname
    const killed = spawn(process.execPath, [bin, ...args], { env: { ...process.env, ...env() } })
    const ended = once(killed, "close")
    expect(await hasPrinted(killed, outputOf(killed), /the keys of busy are revoked/)).toBe(true)
    killed.kill("SIGKILL")
    await ended
    for (const taken of [
      ["tenants", "create", "busy"],
      ["keys", "create", "--name=n", "--scopes=all", "--tenant=busy"],
    ])
      expect(await run(taken, env())).toMatchObject({ code: 1, stderr: expect.stringContaining("is being deleted") })

    expect(await run(args, env())).toMatchObject({ code: 0, stdout: expect.stringMatching(/\ndeleted busy\n$/) })
    const [acceptedThen, refusedThen] = [accepted, refused]
    reasons.clear()
    await until(() => refused > refusedThen + 50)
    isOver = true
    await Promise.all(writers)
    expect(accepted).toBe(acceptedThen)
    expect([...reasons].sort()).toEqual([
      "[unauthenticated] the API key is unknown, revoked or expired",
      "[unauthenticated] the tenant does not exist, or is being deleted, so the API key is invalid",
    ])
    expect(await run(["tenants", "create", "busy"], env())).toMatchObject({ code: 0 })
    for (const table of ["users", "verification_tokens", "api_keys", "idempotency_keys"])
      expect(await authwire.rows(`SELECT COUNT(*) AS n FROM ${table} WHERE tenant = 'busy'`)).toEqual([{ n: 0 }])
  })
})
