import { describe, expect, jest, test } from "@jest/globals"
import { certificateName, listIntervalMs, unavailable, useKeyring } from "../../test/keyring.js"
import { StoreError } from "../errors/store-error.js"
import type { ApiKey } from "../store/types.js"
import { newKey } from "./api-key.js"

const at = useKeyring()

describe("a key that is looked up", () => {
  const lookups = () => at.reads.filter((id) => id !== undefined).length

  test("is looked up once for any number of concurrent calls, and then kept", async () => {
    await at.open()
    at.add("a")
    expect(at.keyring.get("a")).toBeUndefined()
    const found = await Promise.all(Array.from({ length: 50 }, () => at.keyring.lookUp("a")))
    expect(new Set(found.map((key) => key?.keyId))).toEqual(new Set(["a"]))
    expect(at.keyring.get("a")?.keyId).toBe("a")
    expect(lookups()).toBe(1)
  })

  test("and is unknown, is looked up again after two seconds", async () => {
    await at.open()
    for (let count = 0; count < 50; count++) expect(await at.keyring.lookUp("a")).toBeUndefined()
    at.add("a")
    at.time += 2_000
    expect(await at.keyring.lookUp("a")).toBeUndefined()
    expect(lookups()).toBe(1)
    at.time += 1
    expect((await at.keyring.lookUp("a"))?.keyId).toBe("a")
  })

  test("and is revoked or has expired, is not found", async () => {
    await at.open()
    at.add("revoked", { revoked: new Date(0) })
    at.add("expired", { expires: new Date(Date.now() - 1) })
    for (const id of at.rows.keys()) expect(await at.keyring.lookUp(id)).toBeUndefined()
  })

  test("is one of at most 20 per second; a new key among random ones is found with the next list", async () => {
    await at.open()
    const ends = await Promise.allSettled(Array.from({ length: 900 }, () => at.keyring.lookUp(newKey().id)))
    const rejected = ends.filter((one) => one.status === "rejected").map(({ reason }) => reason)
    expect([lookups(), rejected.length]).toEqual([20, 880])
    // One failure for all, because each would record a stack.
    expect(new Set(rejected).size).toBe(1)
    expect(rejected[0]).toMatchObject({ reason: "OVERLOADED", retryAfterMs: listIntervalMs })
    at.add("a")
    await at.nextList()
    expect(at.keyring.get("a")?.keyId).toBe("a")
    expect(await at.keyring.lookUp("unknown")).toBeUndefined()
  })
})

describe("the age of a key", () => {
  test("S-16: counts from the beginning of the read that found it, of the list or of the key alone, and is at most 4.5 s", async () => {
    at.readMs = 1_500
    at.add("a")
    await at.open()
    for (let read = 0; read < 2; read++) {
      expect(at.keyring.get("a")?.keyId).toBe("a")
      at.time += 3_000
      expect(at.keyring.get("a")?.keyId).toBe("a")
      at.time += 1
      expect(at.keyring.get("a")).toBeUndefined()
      expect((await at.keyring.lookUp("a"))?.keyId).toBe("a")
    }
    at.add("a", { revoked: new Date(0) })
    at.time += 3_001
    expect(await at.keyring.lookUp("a")).toBeUndefined()
  })

  test("S-17: without the database makes it neither valid nor invalid, until the database answers again", async () => {
    at.add("a", { certificateName })
    await at.open()
    at.database = "fails"
    await at.nextList()
    expect(at.keyring.get("a")).toBeDefined()
    at.time += 2_501
    const { length } = at.reads
    expect(at.keyring.get("a")).toBeUndefined()
    for (const id of ["a", newKey().id]) await expect(at.keyring.lookUp(id)).rejects.toMatchObject(unavailable)
    for (const name of [certificateName, "DNS:none.internal"])
      await expect((async () => at.keyring.ofCertificate([name]))()).rejects.toMatchObject(unavailable)
    expect(at.reads).toHaveLength(length)
    at.database = "answers"
    await at.nextList()
    expect(at.keyring.get("a")).toBeDefined()
  })
})

test("S-16: after a suspension of the machine no key is used before the list was read again, once for all of them", async () => {
  const ids = Array.from({ length: 100 }, (_, n) => `key ${n}`)
  for (const id of [...ids, "revoked"]) at.add(id)
  await at.open()
  at.time += 3_600_000
  at.changes = [{ id: "revoked", key: undefined }]
  at.add("revoked", { revoked: new Date(0) })
  at.reads = []
  expect([...ids, "revoked"].filter((id) => at.keyring.get(id) !== undefined)).toEqual([])
  const found = await Promise.all([...ids, "revoked"].map((id) => at.keyring.lookUp(id)))
  expect(found.map((key) => key?.keyId)).toEqual([...ids, undefined])
  expect(at.reads).toEqual([undefined, "revoked"])
})

test("of many keys only the changes and a page are read; a key that was deleted is forgotten by a whole walk", async () => {
  at.pageSize = 2
  for (const id of ["a", "b", "c", "d", "e"]) at.add(id)
  await at.open()
  for (const id of at.rows.keys()) expect(at.keyring.get(id)).toBeDefined()
  at.changes = [{ id: "d", key: undefined }]
  at.rows.delete("d")
  await at.nextList()
  expect(at.keyring.get("d")).toBeUndefined()
  at.rows.delete("b")
  for (let read = 0; read < 4; read++) await at.nextList()
  expect(at.keyring.get("b")).toBeUndefined()
  expect(at.keyring.get("e")).toBeDefined()
  const added = { ...(at.rows.get("a") as ApiKey), id: "f" }
  at.changes = [{ id: "f", key: added }]
  await at.nextList()
  expect(at.keyring.get("f")).toBeDefined()
})

test("a first read that fails midway begins again", async () => {
  at.pageSize = 1
  for (const id of ["a", "b"]) at.add(id)
  const filter = at.rows.values.bind(at.rows)
  let pages = 0
  at.rows.values = () => {
    if (pages++ === 1) throw new StoreError("DATABASE_UNAVAILABLE", "it is down")
    return filter()
  }
  await at.open()
  at.rows.delete("a")
  await at.nextList()
  expect(at.keyring.get("a")).toBeUndefined()
  expect(at.keyring.get("b")).toBeDefined()
})

test("a read that is not answered is abandoned after two seconds", async () => {
  at.database = "hangs"
  const opening = at.open()
  await jest.advanceTimersByTimeAsync(2_000)
  await opening
  expect(at.signals.map((one) => one?.aborted)).toEqual([true])
  await expect(at.keyring.lookUp("a")).rejects.toMatchObject(unavailable)
  at.database = "answers"
  await at.nextList()
  at.database = "hangs"
  const looking = at.keyring.lookUp("a")
  const { length } = at.signals
  const failed = expect(looking).rejects.toMatchObject(unavailable)
  await jest.advanceTimersByTimeAsync(2_000)
  await failed
  expect(at.signals[length - 1]?.aborted).toBe(true)
})

test("a keyring that is stopped while it reads the list reads nothing any more", async () => {
  await at.open()
  at.database = "hangs"
  await jest.advanceTimersByTimeAsync(listIntervalMs)
  at.keyring.stop()
  await jest.advanceTimersByTimeAsync(10 * listIntervalMs)
  expect(at.reads).toHaveLength(2)
})
