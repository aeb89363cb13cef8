import { describe, expect, jest, test } from "@jest/globals"
import { certificateName, unavailable, useKeyring } from "../../test/keyring.js"
import { Key } from "./key.js"

const at = useKeyring()

describe("a certificate", () => {
  const ofStatic = new Key({ id: "static", name: "n", tenant: "default", scopes: ["all"], certificateName })

  test("has the key with its name, even if that is not in memory any more", async () => {
    await at.open()
    at.add("a", { certificateName })
    await at.keyring.lookUp("a")
    for (const laterMs of [0, 5_000]) {
      at.time += laterMs
      expect(await at.keyring.ofCertificate(["DNS:other.internal", certificateName])).toMatchObject({ keyId: "a" })
    }
    expect(await at.keyring.ofCertificate(["DNS:other.internal"])).toBeUndefined()
    expect(await at.keyring.ofCertificate([])).toBeUndefined()
  })

  test("has the newest key that has not expired, if several keys of one tenant have its name; a static one first", async () => {
    const expires = new Date(Date.now() + 1_000)
    at.add("newest", { certificateName, expires, created: new Date(3_000) })
    at.add("oldest", { certificateName, created: new Date(1_000) })
    at.add("middle", { certificateName, created: new Date(2_000) })
    await at.open()
    expect(await at.keyring.ofCertificate([certificateName])).toMatchObject({ keyId: "newest" })
    jest.setSystemTime(expires)
    expect(await at.keyring.ofCertificate([certificateName])).toMatchObject({ keyId: "middle" })
    at.keyring.setStaticKeys([ofStatic])
    expect(await at.keyring.ofCertificate([certificateName])).toMatchObject({ keyId: "static" })
    expect(at.warnings).toEqual([])
  })

  test("has no key if valid keys of two tenants have its name; one warning is logged", async () => {
    const otherName = "DNS:other.internal"
    at.add("own", { certificateName })
    at.add("foreign", { certificateName, tenant: "acme" })
    at.add("expired", { certificateName: otherName, tenant: "acme", expires: new Date(0) })
    at.add("other", { certificateName: otherName })
    await at.open()
    expect(await at.keyring.ofCertificate([certificateName])).toBeUndefined()
    expect(await at.keyring.ofCertificate([certificateName, otherName])).toBeUndefined()
    expect(await at.keyring.ofCertificate([otherName])).toMatchObject({ keyId: "other" })
    expect(at.keyring.hasCertificate([certificateName])).toBe(true)
    expect(at.keyring.get("own")?.keyId).toBe("own")
    await at.nextList()
    expect(await at.keyring.ofCertificate([certificateName])).toBeUndefined()
    const keys = expect.arrayContaining(["own", "foreign"])
    expect(at.warnings).toEqual([expect.objectContaining({ keys, msg: expect.stringMatching(/tenants/) })])
    at.add("own", { certificateName, revoked: new Date() })
    await at.nextList()
    expect(await at.keyring.ofCertificate([certificateName])).toMatchObject({ keyId: "foreign" })
    at.keyring.setStaticKeys([ofStatic])
    expect(await at.keyring.ofCertificate([certificateName])).toBeUndefined()
    expect(at.warnings).toHaveLength(2)
  })

  test("is known by its key, even by an expired one, until that key is revoked", async () => {
    at.add("a", { certificateName, expires: new Date(0) })
    await at.open()
    expect(await at.keyring.ofCertificate([certificateName])).toBeUndefined()
    expect(at.keyring.hasCertificate(["DNS:none.internal", certificateName])).toBe(true)
    expect(at.keyring.hasCertificate(["DNS:none.internal"])).toBe(false)
    at.rows.clear()
    await at.nextList()
    expect(at.keyring.hasCertificate([certificateName])).toBe(false)
  })

  test("may have a key before the first list was read", async () => {
    at.database = "fails"
    await at.open()
    expect(() => at.keyring.hasCertificate([certificateName])).toThrow(expect.objectContaining(unavailable))
    expect(at.keyring.hasCertificate([])).toBe(false)
  })

  test("has the static key in place of the stored one with its id", async () => {
    at.add("static", { certificateName: "DNS:old", tenant: "other" })
    await at.open()
    expect(await at.keyring.ofCertificate(["DNS:old"])).toMatchObject({ tenant: "other" })
    at.keyring.setStaticKeys([ofStatic])
    expect(await at.keyring.ofCertificate(["DNS:old"])).toBeUndefined()
    expect(await at.keyring.ofCertificate([certificateName])).toMatchObject({ tenant: "default" })
    expect(at.keyring.get("static")).toMatchObject({ tenant: "default" })
  })
})
