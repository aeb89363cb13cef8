import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals"
import { pino } from "pino"
import { StoreError } from "../errors/store-error.js"
import type { StoreDatabase } from "../store/conformance.js"
import type { ApiKeyStore, Store, Waiter } from "../store/store.js"
import type { ApiKey } from "../store/types.js"
import { hashSecret, type KeyParts, newKey } from "./api-key.js"
import { Key } from "./key.js"
import { type Keyring, openKeyring } from "./keyring.js"

// A keyring over a real store that counts its reads.
const target = serviceDatabase()

describe("a keyring", () => {
  let tables: StoreDatabase
  let store: Store
  let keyring: Keyring
  let asked = { lists: 0, lookups: 0 }
  let isDown = false
  let laterMs = 0
  let warnings: string[] = []
  const log = pino({ level: "warn" }, { write: (line) => void warnings.push(line) })
  /** A tenth of the default, so that the tests do not wait long for the next list. */
  const listIntervalMs = 200

  const counted = (apiKeys: ApiKeyStore): ApiKeyStore => ({
    ...apiKeys,
    async get(waiter, id) {
      asked.lookups++
      if (isDown) throw new StoreError("DATABASE_UNAVAILABLE", "it is down")
      return await apiKeys.get(waiter, id)
    },
    async listValid(waiter, at) {
      asked.lists++
      if (isDown) throw new StoreError("DATABASE_UNAVAILABLE", "it is down")
      return await apiKeys.listValid(waiter, at)
    },
  })
  const create = async (more: Partial<ApiKey> = {}): Promise<KeyParts> => {
    const parts = newKey()
    const secretHash = hashSecret(parts.secret)
    const scopes = ["all"]
    const created = new Date()
    await store.apiKeys.create({}, { id: parts.id, name: "n", tenant: "default", scopes, secretHash, created, ...more })
    return parts
  }

  beforeAll(async () => {
    tables = await createStoreDatabase(target)
    store = await tables.openStore()
  })
  afterAll(async () => {
    await tables.drop()
  })
  beforeEach(async () => {
    await tables.sql("DELETE FROM api_keys")
    asked = { lists: 0, lookups: 0 }
    isDown = false
    laterMs = 0
    warnings = []
    keyring = await openKeyring({
      apiKeys: counted(store.apiKeys),
      log,
      clock: () => performance.now() + laterMs,
      listIntervalMs,
    })
  })
  afterEach(() => {
    keyring.stop()
  })

  test("a key is looked up once for any number of concurrent calls, and then kept", async () => {
    const { id } = await create()
    expect(keyring.get(id)).toBeUndefined()
    const found = await Promise.all(Array.from({ length: 50 }, () => keyring.lookUp(id)))
    expect(new Set(found.map((key) => key?.keyId))).toEqual(new Set([id]))
    expect(keyring.get(id)?.keyId).toBe(id)
    expect(asked.lookups).toBe(1)
  })

  test("an unknown id is looked up once, and then cached", async () => {
    const { id } = newKey()
    for (let count = 0; count < 50; count++) expect(await keyring.lookUp(id)).toBeUndefined()
    expect(asked.lookups).toBe(1)
  })

  test("random ids cost a limited number of lookups; a new key among them is found with the next list", async () => {
    const start = performance.now()
    const ends = await Promise.allSettled(Array.from({ length: 900 }, () => keyring.lookUp(newKey().id)))
    const { id } = await create()
    const { lists } = asked
    await until(() => keyring.get(id) !== undefined)
    // The list after the next one, if the next read had already begun.
    expect(asked.lists).toBeLessThanOrEqual(lists + 2)
    const rejected = ends.filter((one) => one.status === "rejected").map(({ reason }) => reason)
    expect(rejected.length).toBeGreaterThan(800)
    for (const one of rejected) expect(one).toMatchObject({ reason: "OVERLOADED", retryAfterMs: listIntervalMs })
    const seconds = Math.floor((performance.now() - start) / 1_000) + 2
    expect(asked.lookups).toBeLessThanOrEqual(20 * seconds)
  })

  test("a revoked or expired key is not found", async () => {
    const [revoked, expired] = [await create(), await create({ expires: new Date(Date.now() - 1) })]
    await store.apiKeys.revoke({}, revoked.id, new Date())
    expect(await keyring.lookUp(revoked.id)).toBeUndefined()
    expect(await keyring.lookUp(expired.id)).toBeUndefined()
  })

  test("a key is found by the name of its certificate", async () => {
    const { id } = await create({ certificateName: "DNS:app.internal" })
    await keyring.lookUp(id)
    expect(await keyring.ofCertificate(["DNS:other.internal", "DNS:app.internal"])).toMatchObject({ keyId: id })
    expect(await keyring.ofCertificate(["DNS:other.internal"])).toBeUndefined()
    expect(await keyring.ofCertificate([])).toBeUndefined()
  })

  const certificateName = "DNS:app.internal"
  /** Resolves after a list was read that began after the call. */
  const nextList = async () => {
    const { lists } = asked
    await until(() => asked.lists > lists + 1)
  }

  test("of keys of one tenant with the same certificate name, the newest that has not expired is used", async () => {
    const expires = new Date(Date.now() + 1_000)
    const { id: newest } = await create({ certificateName, expires, created: new Date(3_000) })
    const { id: oldest } = await create({ certificateName, created: new Date(1_000) })
    const { id: middle } = await create({ certificateName, created: new Date(2_000) })
    for (const id of [newest, oldest, middle]) await keyring.lookUp(id)
    const found = await keyring.ofCertificate([certificateName])
    if (Date.now() < expires.getTime()) expect(found?.keyId).toBe(newest)
    await until(() => Date.now() >= expires.getTime())
    expect(await keyring.ofCertificate([certificateName])).toMatchObject({ keyId: middle })
    keyring.setStaticKeys([new Key({ id: "static", tenant: "default", scopes: ["all"], certificateName })])
    expect(await keyring.ofCertificate([certificateName])).toMatchObject({ keyId: "static" })
    expect(warnings).toEqual([])
  })

  test("if valid keys of two tenants have a certificate name, none is found by it; one warning is logged", async () => {
    await store.tenants.create({}, { name: "acme", created: new Date() })
    const { id: own } = await create({ certificateName })
    const { id: foreign } = await create({ certificateName, tenant: "acme" })
    const expired = { certificateName: "DNS:other.internal", tenant: "acme", expires: new Date(0) }
    await create(expired)
    const { id: other } = await create({ certificateName: "DNS:other.internal" })
    for (const id of [own, foreign, other]) await keyring.lookUp(id)
    expect(await keyring.ofCertificate([certificateName])).toBeUndefined()
    expect(await keyring.ofCertificate([certificateName, "DNS:other.internal"])).toBeUndefined()
    expect(await keyring.ofCertificate(["DNS:other.internal"])).toMatchObject({ keyId: other })
    expect(keyring.hasCertificate([certificateName])).toBe(true)
    expect(keyring.get(own)?.keyId).toBe(own)
    await nextList()
    expect(await keyring.ofCertificate([certificateName])).toBeUndefined()
    expect(warnings.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ keys: expect.arrayContaining([own, foreign]), msg: expect.stringMatching(/tenants/) }),
    ])
    await store.apiKeys.revoke({}, own, new Date())
    await nextList()
    expect(await keyring.ofCertificate([certificateName])).toMatchObject({ keyId: foreign })
    keyring.setStaticKeys([new Key({ id: "static", tenant: "default", scopes: ["all"], certificateName })])
    expect(await keyring.ofCertificate([certificateName])).toBeUndefined()
    expect(warnings).toHaveLength(2)
  })

  test("a certificate has a key, even an expired one, until that key is revoked", async () => {
    const { id } = await create({ certificateName, expires: new Date(0) })
    await nextList()
    expect(await keyring.ofCertificate([certificateName])).toBeUndefined()
    expect(keyring.hasCertificate(["DNS:none.internal", certificateName])).toBe(true)
    expect(keyring.hasCertificate(["DNS:none.internal"])).toBe(false)
    await store.apiKeys.revoke({}, id, new Date())
    await nextList()
    expect(keyring.hasCertificate([certificateName])).toBe(false)
  })

  test("before the first list, it is unknown whether a certificate has a key", async () => {
    keyring.stop()
    isDown = true
    keyring = await openKeyring({ apiKeys: counted(store.apiKeys), log, clock: () => performance.now() })
    expect(() => keyring.hasCertificate([certificateName])).toThrow(
      expect.objectContaining({ reason: "DATABASE_UNAVAILABLE" }),
    )
    expect(keyring.hasCertificate([])).toBe(false)
  })

  test("without the database no key is valid after 4.5 s, and none is reported as invalid", async () => {
    const { id } = await create({ certificateName: "DNS:app.internal" })
    await keyring.lookUp(id)
    isDown = true
    expect(keyring.get(id)).toBeDefined()
    laterMs += 4_500
    expect(keyring.get(id)).toBeUndefined()
    const failed = asked.lists
    await until(() => asked.lists > failed)
    const before = asked.lookups
    const unavailable = { reason: "DATABASE_UNAVAILABLE" }
    await expect(keyring.lookUp(id)).rejects.toMatchObject(unavailable)
    await expect(keyring.lookUp(newKey().id)).rejects.toMatchObject(unavailable)
    await expect((async () => keyring.ofCertificate(["DNS:app.internal"]))()).rejects.toMatchObject(unavailable)
    await expect((async () => keyring.ofCertificate(["DNS:none.internal"]))()).rejects.toMatchObject(unavailable)
    expect(asked.lookups).toBe(before)
    isDown = false
    await until(() => keyring.get(id) !== undefined)
  })
})

describe("a keyring whose reads and clock are in the hands of the test", () => {
  const listIntervalMs = 2_000
  let time: number
  let rows: Map<string, ApiKey>
  /** Runs before each read is answered. */
  let reading: () => void
  let keyring: Keyring

  const row = (id: string, more: Partial<ApiKey> = {}): ApiKey => ({
    id,
    name: "n",
    tenant: "default",
    scopes: ["all"],
    secretHash: hashSecret("s"),
    created: new Date(0),
    ...more,
  })
  /** Whether reads are never answered. */
  let hangs: boolean
  let signals: (AbortSignal | undefined)[]

  const open = async () => {
    const read = async <T>(found: T, { signal }: Waiter): Promise<T> => {
      signals.push(signal)
      reading()
      return hangs ? new Promise<never>(() => {}) : found
    }
    keyring = await openKeyring({
      apiKeys: {
        get: (waiter, id) => read(rows.get(id) ?? null, waiter),
        listValid: (waiter) => read([...rows.values()], waiter),
      } as Partial<ApiKeyStore> as ApiKeyStore,
      log: pino({ enabled: false }),
      clock: () => time,
      listIntervalMs,
    })
  }

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate"] })
    time = 500
    rows = new Map()
    reading = () => {}
    hangs = false
    signals = []
  })
  afterEach(() => {
    keyring.stop()
    jest.useRealTimers()
  })

  test("a key that was looked up is looked up again after 4.5 s, and is not found if it was revoked since", async () => {
    await open()
    rows.set("a", row("a"))
    expect((await keyring.lookUp("a"))?.keyId).toBe("a")
    rows.set("a", row("a", { revoked: new Date(0) }))
    time += 4_500
    expect(keyring.get("a")?.keyId).toBe("a")
    time += 1
    expect(keyring.get("a")).toBeUndefined()
    expect(await keyring.lookUp("a")).toBeUndefined()
  })

  test("the age of a key counts from the beginning of the read that found it, of the list or of the key alone", async () => {
    reading = () => {
      time += 1_500
    }
    rows.set("a", row("a"))
    await open()
    expect(keyring.get("a")?.keyId).toBe("a")
    time += 3_000
    expect(keyring.get("a")?.keyId).toBe("a")
    time += 1
    expect(keyring.get("a")).toBeUndefined()
    expect((await keyring.lookUp("a"))?.keyId).toBe("a")
    time += 3_000
    expect(keyring.get("a")?.keyId).toBe("a")
    time += 1
    expect(keyring.get("a")).toBeUndefined()
  })

  test("an id that was unknown is looked up again after two seconds", async () => {
    await open()
    expect(await keyring.lookUp("a")).toBeUndefined()
    rows.set("a", row("a"))
    time += 2_000
    expect(await keyring.lookUp("a")).toBeUndefined()
    time += 1
    expect((await keyring.lookUp("a"))?.keyId).toBe("a")
  })

  test("a read that is not answered is abandoned after two seconds", async () => {
    hangs = true
    const opening = open()
    await jest.advanceTimersByTimeAsync(2_000)
    await opening
    expect(signals.map((one) => one?.aborted)).toEqual([true])
    await expect(keyring.lookUp("a")).rejects.toMatchObject({ reason: "DATABASE_UNAVAILABLE" })
    hangs = false
    await jest.advanceTimersByTimeAsync(listIntervalMs)
    hangs = true
    const looking = keyring.lookUp("a")
    const { length } = signals
    const failed = expect(looking).rejects.toMatchObject({ reason: "DATABASE_UNAVAILABLE" })
    await jest.advanceTimersByTimeAsync(2_000)
    await failed
    expect(signals[length - 1]?.aborted).toBe(true)
  })

  test("a keyring that is stopped while it reads the list reads nothing any more", async () => {
    await open()
    hangs = true
    await jest.advanceTimersByTimeAsync(listIntervalMs)
    keyring.stop()
    await jest.advanceTimersByTimeAsync(10 * listIntervalMs)
    expect(signals).toHaveLength(2)
  })

  test("a key of the configuration replaces the one of the database with its id, and so does its certificate name", async () => {
    rows.set("a", row("a", { certificateName: "DNS:old", tenant: "other" }))
    await open()
    expect(await keyring.ofCertificate(["DNS:old"])).toMatchObject({ tenant: "other" })
    keyring.setStaticKeys([new Key({ id: "a", tenant: "default", scopes: ["all"], certificateName: "DNS:new" })])
    expect(await keyring.ofCertificate(["DNS:old"])).toBeUndefined()
    expect(await keyring.ofCertificate(["DNS:new"])).toMatchObject({ tenant: "default" })
    expect(keyring.get("a")).toMatchObject({ tenant: "default" })
  })
})
