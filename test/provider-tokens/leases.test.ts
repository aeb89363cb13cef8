import { createServer } from "node:http"
import { buffer } from "node:stream/consumers"
import { setTimeout as delay } from "node:timers/promises"
import { listen } from "@authwire/test-support/connections/free-port.js"
import { serviceDatabase, type TestDatabase, tcpProxy } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { anyone, encryptionKeys, newAccount, newUser } from "@authwire/test-support/store-contract/context.js"
import type { StoreDatabase } from "@authwire/test-support/store-contract/contract.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"
import { pino } from "pino"
import { accessTokens } from "../../server/src/provider-tokens/access-tokens.js"
import type { Provider } from "../../server/src/provider-tokens/provider.js"
import { openSqlStore } from "../../server/src/store/sql/index.js"
import type { Store } from "../../server/src/store/store.js"
import type { Account } from "../../server/src/store/types.js"

// Replicas in one process with a real database, and a real HTTP server as the provider, so that a test controls the clock
// and the network of each replica.
const later = endsAfterEach()
/** The refresh tokens that the provider received. */
const received: string[] = []
let answer: object
/** Called before the provider answers. */
let onRequest: () => unknown
const server = createServer(async (request, response) => {
  received.push(new URLSearchParams((await buffer(request)).toString()).get("refresh_token") as string)
  await onRequest()
  response.setHeader("content-type", "application/json").end(JSON.stringify(answer))
})
const rotated = { access_token: "a2", refresh_token: "r2", token_type: "bearer", expires_in: 3600 }
let provider: Provider

beforeAll(async () => {
  provider = {
    tokenEndpoint: `http://127.0.0.1:${await listen(server)}/token`,
    issuer: undefined,
    clientId: "app",
    clientIdName: "client_id",
    credentials: { method: "none" },
    bodyFormat: "form",
    parameters: {},
    errorCodes: new Map(),
    timeoutMs: 10_000,
    signals: undefined,
  }
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  received.length = 0
  answer = rotated
  onRequest = () => {}
})

const target = serviceDatabase()

describe(`on ${target}`, () => {
  let database: StoreDatabase & TestDatabase
  let store: Store
  /** A clock that only the tests advance, so that no wait ends by itself. */
  let clockMs = 0
  beforeAll(async () => {
    database = await createStoreDatabase(target)
    store = await database.openStore()
  })
  afterAll(() => database.drop())

  const replica = ({ tokenRefreshes }: Store = store) => {
    const tokens = accessTokens({
      tokenRefreshes,
      providers: { of: () => provider },
      log: pino({ level: "silent" }),
      now: Date.now,
      clock: () => clockMs,
      elapsed: () => clockMs,
      // The clock of the tests does not shorten the pauses.
      maxPauseMs: 100,
    })
    // After a failed test its refreshes would otherwise continue without end.
    later(() => tokens.stop(0))
    return tokens
  }
  const linked = async (): Promise<Account> => {
    const { id } = await store.users.create(anyone, newUser())
    const tokens = { access_token: "a1", refresh_token: "r1", expires_at: 1_000 }
    return store.accounts.link(anyone, newAccount(id, tokens))
  }
  const where = "WHERE provider_account_id = ?"
  const rowOf = async ({ providerAccountId }: Account) => {
    const [row] = await database.sql(`SELECT refresh_holder, refresh_until FROM accounts ${where}`, [providerAccountId])
    return row
  }
  const holderOf = async (account: Account) => (await rowOf(account))?.refresh_holder
  const endOf = async (account: Account) => (await rowOf(account))?.refresh_until
  const setEnd = ({ providerAccountId }: Account, ms: number) =>
    database.sql(`UPDATE accounts SET refresh_until = ? ${where}`, [database.moment(ms), providerAccountId])
  const get = (tokens: ReturnType<typeof replica>, account: Account, signal?: AbortSignal, asked = () => {}) =>
    tokens.get({ ...anyone, signal }, account, { minValidityMs: 60_000 }, asked)

  describe("a lease that expired without being released", () => {
    const gone = "a replica"
    const renewed = async (account: Account) => {
      const end = await endOf(account)
      await until(async () => (await endOf(account)) !== end)
    }
    /** Resolves when another holder has acquired the lease and waits: it has renewed the lease. */
    const acquired = async (account: Account) => {
      await until(async () => (await holderOf(account)) !== gone)
      await renewed(account)
    }
    const unreleased = async (): Promise<Account> => {
      const account = await linked()
      await store.tokenRefreshes.begin(anyone, account, { holder: gone, ms: 1 })
      await delay(5)
      return account
    }

    test("is not used while its holder may store the provider's answer, which every call then gets", async () => {
      const account = await unreleased()
      const tokens = replica()
      const calls = [get(tokens, account), get(replica(), account)]
      await acquired(account)
      clockMs += 7_999
      const newer = { access_token: "a2", refresh_token: "r2", token_type: "bearer", expires_at: 1e10 }
      await store.tokenRefreshes.complete(anyone, account, gone, newer)
      expect(await Promise.all(calls)).toMatchObject([{ access_token: "a2" }, { access_token: "a2" }])
      expect(received).toEqual([])
      // The next refresh does not have to wait.
      await until(async () => (await holderOf(account)) === null)
    })

    test("is used after that time", async () => {
      const account = await unreleased()
      const call = get(replica(), account)
      await acquired(account)
      expect(received).toEqual([])
      clockMs += 8_000
      expect(await call).toMatchObject({ access_token: "a2" })
      expect(received).toEqual(["r1"])
    })

    test("is waited for again if the database did not accept the renewal meanwhile", async () => {
      const account = await unreleased()
      const call = get(replica(), account)
      await acquired(account)
      await database.sql("BEGIN")
      await database.sql(`UPDATE accounts SET scope = 'x' ${where}`, [account.providerAccountId])
      await database.lockMet()
      clockMs += 8_000
      await database.sql("COMMIT")
      // A refresh would end the lease, which is a change too, by the third one.
      for (let change = 0; change < 3; change++) await renewed(account)
      expect(received).toEqual([])
      clockMs += 8_000
      expect(await call).toMatchObject({ access_token: "a2" })
    })

    test("is waited for and released even if the only call is cancelled, so that a later call need not wait", async () => {
      const account = await unreleased()
      const tokens = replica()
      const giveUp = new AbortController()
      const call = get(tokens, account, giveUp.signal)
      await acquired(account)
      giveUp.abort(new Error("gone"))
      await expect(call).rejects.toThrow("gone")
      clockMs += 8_000
      await until(async () => (await holderOf(account)) === null)
      expect(received).toEqual([])
      expect(await get(tokens, account)).toMatchObject({ access_token: "a2" })
    })

    test("is used at once if no holder can be storing any more", async () => {
      const account = await unreleased()
      await setEnd(account, Date.now() - 70_000)
      expect(await get(replica(), account)).toMatchObject({ access_token: "a2" })
    })
  })

  if (target !== "sqlite") {
    test("during an outage that outlasts the lease, the refresh token is used once, whichever replica recovers first", async () => {
      const account = await linked()
      const opened = async () => {
        const url = new URL(database.url)
        const proxy = await tcpProxy(Number(url.port || (target === "postgres" ? 5432 : 3306)), url.hostname)
        later(() => proxy.close())
        const own = await openSqlStore({
          encryptionKeys,
          url: Object.assign(url, { host: `127.0.0.1:${proxy.port}` }).href,
        })
        later(() => own.close())
        return { proxy, tokens: replica(own) }
      }
      const [one, other] = [await opened(), await opened()]
      onRequest = () => Promise.all([one.proxy.cut(), other.proxy.cut()])
      const first = get(one.tokens, account)
      await until(() => received.length === 1)
      const holder = await holderOf(account)
      // The lease expires.
      await setEnd(account, Date.now() - 1_000)
      await other.proxy.restore()
      const second = get(other.tokens, account)
      await until(async () => (await holderOf(account)) !== holder)
      expect(received).toEqual(["r1"])
      await one.proxy.restore()
      expect(await Promise.all([first, second])).toMatchObject([{ access_token: "a2" }, { access_token: "a2" }])
      expect(received).toEqual(["r1"])
    })
  }

  describe("the call that counts as the refresh", () => {
    test("is known before the provider is asked, and is one of all that wait", async () => {
      const account = await linked()
      const tokens = replica()
      const asked: string[] = []
      const before: string[][] = []
      onRequest = () => before.push([...asked])
      await Promise.all(["x", "y", "z"].map((name) => get(tokens, account, undefined, () => asked.push(name))))
      expect(asked).toHaveLength(1)
      expect(before).toEqual([asked])
    })

    test("if it is cancelled while the lease is acquired, the provider is not asked, and the lease is released", async () => {
      const account = await linked()
      const tokens = replica()
      let asked = 0
      const giveUp = new AbortController()
      await database.sql("BEGIN")
      await database.sql(`UPDATE accounts SET scope = 'x' ${where}`, [account.providerAccountId])
      const lockMet = database.lockMet()
      const call = get(tokens, account, giveUp.signal, () => asked++)
      await lockMet
      giveUp.abort(new Error("gone"))
      await expect(call).rejects.toThrow("gone")
      await database.sql("COMMIT")
      await tokens.stop(20_000)
      expect({ asked, received }).toEqual({ asked: 0, received: [] })
      expect(await holderOf(account)).toBeNull()
    })

    test("if another call still waits, it counts as the refresh", async () => {
      const account = await linked()
      const tokens = replica()
      const asked: string[] = []
      const giveUp = new AbortController()
      await database.sql("BEGIN")
      await database.sql(`UPDATE accounts SET scope = 'x' ${where}`, [account.providerAccountId])
      const lockMet = database.lockMet()
      const first = get(tokens, account, giveUp.signal, () => asked.push("first"))
      const second = get(tokens, account, undefined, () => asked.push("second"))
      await lockMet
      giveUp.abort(new Error("gone"))
      await expect(first).rejects.toThrow("gone")
      await database.sql("COMMIT")
      expect(await second).toMatchObject({ access_token: "a2" })
      expect(asked).toEqual(["second"])
    })
  })

  test("a new refresh token is stored even if the answer has no usable access token, and is used next", async () => {
    const account = await linked()
    answer = { refresh_token: "r2" }
    const tokens = replica()
    const unusable = { reason: "REFRESH_REFUSED", metadata: { failure: "no_access_token" } }
    await expect(get(tokens, account)).rejects.toMatchObject(unusable)
    const { access_token, refresh_token, expires_at } = account
    expect(await store.accounts.get(anyone, account)).toMatchObject({ access_token, expires_at, refresh_token: "r2" })
    await expect(get(tokens, account)).rejects.toMatchObject(unusable)
    expect(received).toEqual([refresh_token])
    await setEnd(account, Date.now() - 1_000)
    answer = { ...rotated, refresh_token: "r3" }
    expect(await get(tokens, account)).toMatchObject({ access_token: "a2", refresh_token: "r3" })
    expect(received).toEqual([refresh_token, "r2"])
  })
})
