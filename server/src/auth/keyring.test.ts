import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals"
import { pino } from "pino"
import { StoreError } from "../errors/store-error.js"
import type { ApiKeyStore, Waiter } from "../store/store.js"
import type { ApiKey } from "../store/types.js"
import { hashSecret, newKey } from "./api-key.js"
import { Key } from "./key.js"
import { type Keyring, openKeyring } from "./keyring.js"

// A keyring whose clock, timers and store are in the hands of the test.
const listIntervalMs = 2_000
const certificateName = "DNS:app.internal"
const unavailable = { reason: "DATABASE_UNAVAILABLE" }
let time: number
/** The keys of the store. */
let rows: Map<string, ApiKey>
/** The ids of the keys that were looked up, and `undefined` for a read of the list. */
let reads: (string | undefined)[]
/** What reads do: they answer, fail, or are never answered. */
let database: "answers" | "fails" | "hangs"
/** How long a read lasts, in milliseconds. */
let readMs: number
/** The size of a page of the list, and the changes that the next read finds. */
let pageSize: number
let changes: { id: string; key: ApiKey | undefined }[]
let signals: (AbortSignal | undefined)[]
let warnings: Record<string, unknown>[]
let keyring: Keyring

function add(id: string, more: Partial<ApiKey> = {}): string {
  const secretHash = hashSecret("s")
  rows.set(id, { id, name: "n", tenant: "default", scopes: ["all"], secretHash, created: new Date(0), ...more })
  return id
}

async function open() {
  const read = async <T>(id: string | undefined, found: () => T, { signal }: Waiter): Promise<T> => {
    reads.push(id)
    signals.push(signal)
    time += readMs
    if (database === "fails") throw new StoreError("DATABASE_UNAVAILABLE", "it is down")
    return database === "hangs" ? new Promise<never>(() => {}) : found()
  }
  const apiKeys: Pick<ApiKeyStore, "get" | "listValid" | "listChanges"> = {
    get: (waiter, id) => read(id, () => rows.get(id) ?? null, waiter),
    async listValid(_waiter, _at, after = "") {
      const valid = [...rows.values()].filter(({ id, revoked }) => revoked === undefined && id > after)
      return { keys: valid.slice(0, pageSize), next: valid.length > pageSize ? valid[pageSize - 1]?.id : undefined }
    },
    listChanges: (waiter) => read(undefined, () => ({ changes: changes.splice(0), until: new Date(time) }), waiter),
  }
  const log = pino({ level: "warn" }, { write: (line) => void warnings.push(JSON.parse(line)) })
  keyring = await openKeyring({
    apiKeys: apiKeys as ApiKeyStore,
    log,
    clock: () => time,
    now: Date.now,
    listIntervalMs,
  })
}

/** Lets time pass until the list has been read again. */
async function nextList() {
  time += listIntervalMs
  await jest.advanceTimersByTimeAsync(listIntervalMs)
}

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate"] })
  time = 500
  rows = new Map()
  pageSize = 1_000
  changes = []
  reads = []
  database = "answers"
  readMs = 0
  signals = []
  warnings = []
})
afterEach(() => {
  keyring.stop()
  jest.useRealTimers()
})

describe("a key that is looked up", () => {
  const lookups = () => reads.filter((id) => id !== undefined).length

  test("is looked up once for any number of concurrent calls, and then kept", async () => {
    await open()
    add("a")
    expect(keyring.get("a")).toBeUndefined()
    const found = await Promise.all(Array.from({ length: 50 }, () => keyring.lookUp("a")))
    expect(new Set(found.map((key) => key?.keyId))).toEqual(new Set(["a"]))
    expect(keyring.get("a")?.keyId).toBe("a")
    expect(lookups()).toBe(1)
  })

  test("and is unknown, is looked up again after two seconds", async () => {
    await open()
    for (let count = 0; count < 50; count++) expect(await keyring.lookUp("a")).toBeUndefined()
    add("a")
    time += 2_000
    expect(await keyring.lookUp("a")).toBeUndefined()
    expect(lookups()).toBe(1)
    time += 1
    expect((await keyring.lookUp("a"))?.keyId).toBe("a")
  })

  test("and is revoked or has expired, is not found", async () => {
    await open()
    add("revoked", { revoked: new Date(0) })
    add("expired", { expires: new Date(Date.now() - 1) })
    for (const id of rows.keys()) expect(await keyring.lookUp(id)).toBeUndefined()
  })

  test("is one of at most 20 per second; a new key among random ones is found with the next list", async () => {
    await open()
    const ends = await Promise.allSettled(Array.from({ length: 900 }, () => keyring.lookUp(newKey().id)))
    const rejected = ends.filter((one) => one.status === "rejected").map(({ reason }) => reason)
    expect([lookups(), rejected.length]).toEqual([20, 880])
    for (const one of rejected) expect(one).toMatchObject({ reason: "OVERLOADED", retryAfterMs: listIntervalMs })
    add("a")
    await nextList()
    expect(keyring.get("a")?.keyId).toBe("a")
    expect(await keyring.lookUp("unknown")).toBeUndefined()
  })
})

describe("the age of a key", () => {
  test("S-16: counts from the beginning of the read that found it, of the list or of the key alone, and is at most 4.5 s", async () => {
    readMs = 1_500
    add("a")
    await open()
    for (let read = 0; read < 2; read++) {
      expect(keyring.get("a")?.keyId).toBe("a")
      time += 3_000
      expect(keyring.get("a")?.keyId).toBe("a")
      time += 1
      expect(keyring.get("a")).toBeUndefined()
      expect((await keyring.lookUp("a"))?.keyId).toBe("a")
    }
    add("a", { revoked: new Date(0) })
    time += 3_001
    expect(await keyring.lookUp("a")).toBeUndefined()
  })

  test("S-17: without the database makes it neither valid nor invalid, until the database answers again", async () => {
    add("a", { certificateName })
    await open()
    database = "fails"
    await nextList()
    expect(keyring.get("a")).toBeDefined()
    time += 2_501
    const { length } = reads
    expect(keyring.get("a")).toBeUndefined()
    for (const id of ["a", newKey().id]) await expect(keyring.lookUp(id)).rejects.toMatchObject(unavailable)
    for (const name of [certificateName, "DNS:none.internal"])
      await expect((async () => keyring.ofCertificate([name]))()).rejects.toMatchObject(unavailable)
    expect(reads).toHaveLength(length)
    database = "answers"
    await nextList()
    expect(keyring.get("a")).toBeDefined()
  })
})

test("of many keys only the changes and a page are read; a key that was deleted is forgotten by a whole walk", async () => {
  pageSize = 2
  for (const id of ["a", "b", "c", "d", "e"]) add(id)
  await open()
  for (const id of rows.keys()) expect(keyring.get(id)).toBeDefined()
  changes = [{ id: "d", key: undefined }]
  rows.delete("d")
  await nextList()
  expect(keyring.get("d")).toBeUndefined()
  rows.delete("b")
  for (let read = 0; read < 4; read++) await nextList()
  expect(keyring.get("b")).toBeUndefined()
  expect(keyring.get("e")).toBeDefined()
  const added = { ...(rows.get("a") as ApiKey), id: "f" }
  changes = [{ id: "f", key: added }]
  await nextList()
  expect(keyring.get("f")).toBeDefined()
})

test("a first read that fails midway begins again", async () => {
  pageSize = 1
  for (const id of ["a", "b"]) add(id)
  const filter = rows.values.bind(rows)
  let pages = 0
  rows.values = () => {
    if (pages++ === 1) throw new StoreError("DATABASE_UNAVAILABLE", "it is down")
    return filter()
  }
  await open()
  rows.delete("a")
  await nextList()
  expect(keyring.get("a")).toBeUndefined()
  expect(keyring.get("b")).toBeDefined()
})

test("a read that is not answered is abandoned after two seconds", async () => {
  database = "hangs"
  const opening = open()
  await jest.advanceTimersByTimeAsync(2_000)
  await opening
  expect(signals.map((one) => one?.aborted)).toEqual([true])
  await expect(keyring.lookUp("a")).rejects.toMatchObject(unavailable)
  database = "answers"
  await nextList()
  database = "hangs"
  const looking = keyring.lookUp("a")
  const { length } = signals
  const failed = expect(looking).rejects.toMatchObject(unavailable)
  await jest.advanceTimersByTimeAsync(2_000)
  await failed
  expect(signals[length - 1]?.aborted).toBe(true)
})

test("a keyring that is stopped while it reads the list reads nothing any more", async () => {
  await open()
  database = "hangs"
  await jest.advanceTimersByTimeAsync(listIntervalMs)
  keyring.stop()
  await jest.advanceTimersByTimeAsync(10 * listIntervalMs)
  expect(reads).toHaveLength(2)
})

describe("a certificate", () => {
  const ofStatic = new Key({ id: "static", tenant: "default", scopes: ["all"], certificateName })

  test("has the key with its name, even if that is not in memory any more", async () => {
    await open()
    add("a", { certificateName })
    await keyring.lookUp("a")
    for (const laterMs of [0, 5_000]) {
      time += laterMs
      expect(await keyring.ofCertificate(["DNS:other.internal", certificateName])).toMatchObject({ keyId: "a" })
    }
    expect(await keyring.ofCertificate(["DNS:other.internal"])).toBeUndefined()
    expect(await keyring.ofCertificate([])).toBeUndefined()
  })

  test("has the newest key that has not expired, if several keys of one tenant have its name; a static one first", async () => {
    const expires = new Date(Date.now() + 1_000)
    add("newest", { certificateName, expires, created: new Date(3_000) })
    add("oldest", { certificateName, created: new Date(1_000) })
    add("middle", { certificateName, created: new Date(2_000) })
    await open()
    expect(await keyring.ofCertificate([certificateName])).toMatchObject({ keyId: "newest" })
    jest.setSystemTime(expires)
    expect(await keyring.ofCertificate([certificateName])).toMatchObject({ keyId: "middle" })
    keyring.setStaticKeys([ofStatic])
    expect(await keyring.ofCertificate([certificateName])).toMatchObject({ keyId: "static" })
    expect(warnings).toEqual([])
  })

  test("has no key if valid keys of two tenants have its name; one warning is logged", async () => {
    const otherName = "DNS:other.internal"
    add("own", { certificateName })
    add("foreign", { certificateName, tenant: "acme" })
    add("expired", { certificateName: otherName, tenant: "acme", expires: new Date(0) })
    add("other", { certificateName: otherName })
    await open()
    expect(await keyring.ofCertificate([certificateName])).toBeUndefined()
    expect(await keyring.ofCertificate([certificateName, otherName])).toBeUndefined()
    expect(await keyring.ofCertificate([otherName])).toMatchObject({ keyId: "other" })
    expect(keyring.hasCertificate([certificateName])).toBe(true)
    expect(keyring.get("own")?.keyId).toBe("own")
    await nextList()
    expect(await keyring.ofCertificate([certificateName])).toBeUndefined()
    const keys = expect.arrayContaining(["own", "foreign"])
    expect(warnings).toEqual([expect.objectContaining({ keys, msg: expect.stringMatching(/tenants/) })])
    add("own", { certificateName, revoked: new Date() })
    await nextList()
    expect(await keyring.ofCertificate([certificateName])).toMatchObject({ keyId: "foreign" })
    keyring.setStaticKeys([ofStatic])
    expect(await keyring.ofCertificate([certificateName])).toBeUndefined()
    expect(warnings).toHaveLength(2)
  })

  test("is known by its key, even by an expired one, until that key is revoked", async () => {
    add("a", { certificateName, expires: new Date(0) })
    await open()
    expect(await keyring.ofCertificate([certificateName])).toBeUndefined()
    expect(keyring.hasCertificate(["DNS:none.internal", certificateName])).toBe(true)
    expect(keyring.hasCertificate(["DNS:none.internal"])).toBe(false)
    rows.clear()
    await nextList()
    expect(keyring.hasCertificate([certificateName])).toBe(false)
  })

  test("may have a key before the first list was read", async () => {
    database = "fails"
    await open()
    expect(() => keyring.hasCertificate([certificateName])).toThrow(expect.objectContaining(unavailable))
    expect(keyring.hasCertificate([])).toBe(false)
  })

  test("has the static key in place of the stored one with its id", async () => {
    add("static", { certificateName: "DNS:old", tenant: "other" })
    await open()
    expect(await keyring.ofCertificate(["DNS:old"])).toMatchObject({ tenant: "other" })
    keyring.setStaticKeys([ofStatic])
    expect(await keyring.ofCertificate(["DNS:old"])).toBeUndefined()
    expect(await keyring.ofCertificate([certificateName])).toMatchObject({ tenant: "default" })
    expect(keyring.get("static")).toMatchObject({ tenant: "default" })
  })
})
