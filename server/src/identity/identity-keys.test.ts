import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import type { StoreDatabase } from "@authwire/test-support/store-contract/contract.js"
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals"
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose"
import { pino } from "pino"
import type { Store } from "../store/store.js"
import { type IdentityKeys, identityKeys } from "./identity-keys.js"
import { addKey, publishedMs } from "./rotation.js"

const minute = 60_000
const day = 24 * 60 * minute

describe("the keys that sign identities", () => {
  let database: StoreDatabase
  let store: Store
  let now = Date.UTC(2030, 0, 1)
  const opened: IdentityKeys[] = []
  const lines: { msg: string }[] = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  /** Starts a process, which reads the keys as it would do every minute. */
  const start = async (one = store, maxAgeMs = 30 * day) => {
    const keys = await identityKeys({ store: one.signingKeys, log, now: () => now, maxAgeMs })
    opened.push(keys)
    return keys
  }
  const setOf = (keys: IdentityKeys): JSONWebKeySet => JSON.parse(keys.keySet())
  const verifies = (token: string, set: JSONWebKeySet) =>
    jwtVerify(token, createLocalJWKSet(set), { currentDate: new Date(now) }).then(
      () => true,
      () => false,
    )

  beforeEach(async () => {
    database = await createStoreDatabase(serviceDatabase())
    store = await database.openStore()
    lines.length = 0
  })
  afterEach(async () => {
    for (const keys of opened.splice(0)) keys.stop()
    await database.drop()
  })

  test("processes that start together make one key, and the set has nothing private", async () => {
    const all = await Promise.all(Array.from({ length: 5 }, () => start()))
    const sets = all.map(setOf)
    expect(sets[0]?.keys).toEqual([
      {
        kty: "EC",
        crv: "P-256",
        alg: "ES256",
        use: "sig",
        kid: expect.any(String),
        x: expect.any(String),
        y: expect.any(String),
      },
    ])
    for (const set of sets) {
      expect(set).toEqual(sets[0])
      for (const keys of all) expect(await verifies(await keys.sign({ sub: "1" }), set)).toBe(true)
    }
  })

  test("a key is changed by schedule and by hand without an assertion that a verifier rejects", async () => {
    // A verifier keeps the set of either process for ten minutes. Each process reads the keys every second minute.
    const processes = [await start(), await start()]
    let kept = setOf(processes[0] as IdentityKeys)
    const kids = new Set<string>()
    const rejected: number[] = []
    let most = 0
    for (let minutes = 0; minutes < 150; minutes++) {
      now += minutes === 40 ? 30 * day - 40 * minute : minute
      processes[minutes % 2] = await start()
      if (minutes === 90) await addKey(store.signingKeys, {}, { keys: await store.signingKeys.list({}), now })
      if (minutes % 10 === 0) kept = setOf(processes[(minutes / 10) % 2] as IdentityKeys)
      most = Math.max(most, kept.keys.length)
      for (const one of processes) {
        const token = await one.sign({ sub: "1" })
        kids.add(JSON.parse(Buffer.from(token.split(".")[0] as string, "base64url").toString()).kid)
        if (!(await verifies(token, kept))) rejected.push(minutes)
      }
    }
    expect(rejected).toEqual([])
    expect(kids.size).toBe(3)
    expect(most).toBe(2)
    expect(await store.signingKeys.list({})).toHaveLength(1)
  })

  test("the only key signs also in a process whose clock is behind that of the one that made it at once", async () => {
    await addKey(store.signingKeys, {}, { keys: [], now: now + minute, atOnce: true })
    const keys = await start()
    expect(await verifies(await keys.sign({ sub: "1" }), setOf(keys))).toBe(true)
  })

  test("a process that cannot decrypt the keys warns, and takes none away from the others", async () => {
    const good = await start()
    const stranger = await database.openStore({ encryptionKeys: [Buffer.alloc(32, 9)] })
    await start(stranger)
    expect(lines.map(({ msg }) => msg)).toEqual(["no encryption key of this process opens these signing keys"])
    now += publishedMs + day
    await start(stranger)
    expect(await verifies(await good.sign({}), setOf(await start()))).toBe(true)
  })

  test("an outage leaves the keys as they are; without any key the call may be repeated", async () => {
    const keys = await start()
    const closed = await database.openStore()
    await closed.close()
    const none = await start(closed)
    await expect(none.sign({})).rejects.toMatchObject({ reason: "DATABASE_UNAVAILABLE" })
    expect(setOf(none)).toEqual({ keys: [] })
    expect(await verifies(await keys.sign({}), setOf(keys))).toBe(true)
  })
})
