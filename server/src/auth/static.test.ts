import { describe, expect, test } from "@jest/globals"
import { InvalidValueError } from "../util/invalid-value-error.js"
import { parseStaticKeys } from "./static-keys.js"
import { parseTenantSecrets } from "./tenant-secrets.js"

const entry = { id: "0123456789abcdef", name: "app", scopes: ["users:read"], secretSha256: "0".repeat(64) }
// A value that errors must not contain, because it may be a misplaced secret.
const canary = "hunter2"

/** Returns the error message for a text that violates a rule. */
function complaint(parse: () => unknown): string {
  try {
    parse()
  } catch (error) {
    if (error instanceof InvalidValueError) return error.message
  }
  return "nothing"
}

describe("configured keys", () => {
  test("are parsed, with or without a tenant and an expiry", () => {
    const full = { ...entry, id: "f".repeat(16), tenant: "acme", certificateName: "DNS:a.b", expires: "2030-01-31" }
    const [one, other] = parseStaticKeys(JSON.stringify([entry, full]))
    expect(one).toMatchObject({ id: entry.id, tenant: "default", scopes: ["users:read"], secretHash: Buffer.alloc(32) })
    expect(other).toMatchObject({ tenant: "acme", certificateName: "DNS:a.b", expires: new Date("2030-01-31") })
    expect(parseStaticKeys("[]")).toEqual([])
  })

  test.each([
    ["no JSON", `[{"id": ${canary}}]`, "must be a list in JSON"],
    ["no list", `{"id": "${canary}"}`, "must be a list in JSON"],
    ["no object", `["${canary}"]`, "[0]: must be an object"],
  ])("%s", (_, text, rule) => {
    expect(complaint(() => parseStaticKeys(text))).toBe(rule)
  })

  test.each([
    ["id", canary, "[1].id: must be 16 of a-z and 0-9"],
    ["id", undefined, "[1].id: must be 16 of a-z and 0-9"],
    ["id", entry.id, "[1].id: is taken by another"],
    ["name", "", "[1].name: must be 1 to 255 characters"],
    ["name", `${canary}\n`, "[1].name: must be 1 to 255 characters"],
    ["tenant", `${canary}!`, "[1].tenant: must match"],
    ["scopes", [], "[1].scopes: must be a list of one or more of all, accounts:read"],
    ["scopes", ["users:read", canary], "[1].scopes: must be a list of one or more of all, accounts:read"],
    ["scopes", ["any"], "[1].scopes: must be a list of one or more of all, accounts:read"],
    ["scopes", [{ all: 1 }], "[1].scopes: must be a list of one or more of all, accounts:read"],
    ["scopes", "all", "[1].scopes: must be a list of one or more of all, accounts:read"],
    ["secretSha256", canary, "[1].secretSha256: must be 64 hexadecimal digits"],
    ["secretSha256", undefined, "[1]: must have secretSha256 or certificateName"],
    ["certificateName", canary, "[1].certificateName: must be a name as certificates have it"],
    ["expires", canary, "[1].expires: must be a date in ISO 8601"],
    ["expires", "2030-01-31T00:00:00", "[1].expires: must be a date in ISO 8601"],
    ["expires", "2030-02-30", "[1].expires: must be a date in ISO 8601"],
    ["expires", "2030-02-29T12:00:00Z", "[1].expires: must be a date in ISO 8601"],
    ["expires", 1, "[1].expires: must be a date in ISO 8601"],
    [canary, 1, "[1]: the fields are id, name, tenant, scopes, secretSha256, certificateName, expires, and field 5"],
  ])("the error for a wrong %s has its index and rule, and not its value", (field, value, rule) => {
    const other = { ...entry, id: "f".repeat(16), [field]: value }
    const said = complaint(() => parseStaticKeys(JSON.stringify([entry, other])))
    expect(said.slice(0, rule.length)).toBe(rule)
    expect(said).not.toContain(canary)
  })
})

describe("secrets of tenants", () => {
  const secret = "s".repeat(32)
  test("are parsed, the newest first", () => {
    const given = JSON.stringify({ acme: [secret, `${secret}2`], "b-2": [secret] })
    expect([...parseTenantSecrets(given, { short: false })]).toEqual([
      ["acme", [secret, `${secret}2`]],
      ["b-2", [secret]],
    ])
    expect(parseTenantSecrets('{"acme": ["short"]}', { short: true }).get("acme")).toEqual(["short"])
  })

  test.each([
    [`{"acme": [${canary}]}`, "must be an object in JSON"],
    [`["${canary}"]`, "must be an object in JSON"],
    [`{"${canary}!": ["${secret}"]}`, "name 1: must match"],
    [`{"default": ["${secret}"]}`, "default: has the secrets of AUTH_SECRET, and none here"],
    [`{"acme": "${canary}"}`, "acme: must be a list of secrets"],
    [`{"acme": []}`, "acme: must be a list of secrets"],
    [`{"acme": ["${secret}", "${canary}"]}`, "acme[1]: must have 32 bytes or more"],
    [`{"acme": ["${secret}", 12345]}`, "acme[1]: must be a text"],
  ])("the error for %s has its tenant and rule, and not its value", (text, rule) => {
    const said = complaint(() => parseTenantSecrets(text, { short: false }))
    expect(said.slice(0, rule.length)).toBe(rule)
    expect(said).not.toContain(canary)
  })
})
