import { describe, expect, test } from "@jest/globals"
import { InvalidValueError } from "../errors/invalid-value-error.js"
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
    ["no JSON", `[{"id": ${canary}}]`, "must be a JSON array"],
    ["no list", `{"id": "${canary}"}`, "must be a JSON array"],
    ["no object", `["${canary}"]`, "[0]: must be an object"],
  ])("%s", (_, text, rule) => {
    expect(complaint(() => parseStaticKeys(text))).toBe(rule)
  })

  test("of which two have a certificate name are rejected, unless one has expired", () => {
    const named = { ...entry, certificateName: "DNS:a.b" }
    const said = (more: object) =>
      complaint(() => parseStaticKeys(JSON.stringify([named, { ...named, id: "f".repeat(16), ...more }])))
    const rule = "[1].certificateName: is the certificate name of another entry that has not expired"
    expect(said({})).toBe(rule)
    expect(said({ tenant: "acme", expires: "2100-01-31" })).toBe(rule)
    expect(said({ expires: "2020-01-31" })).toBe("nothing")
    expect(said({ certificateName: "DNS:c.d" })).toBe("nothing")
  })

  test.each([
    ["id", canary, "[1].id: must be 16 characters of a-z and 0-9"],
    ["id", undefined, "[1].id: must be 16 characters of a-z and 0-9"],
    ["id", entry.id, "[1].id: is the id of another entry"],
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
    ["certificateName", canary, "[1].certificateName: must be a subject alternative name of a certificate"],
    ["expires", canary, "[1].expires: must be an ISO 8601 date"],
    ["expires", "2030-01-31T00:00:00", "[1].expires: must be an ISO 8601 date"],
    ["expires", "2030-02-30", "[1].expires: must be an ISO 8601 date"],
    ["expires", "2030-02-29T12:00:00Z", "[1].expires: must be an ISO 8601 date"],
    ["expires", 1, "[1].expires: must be an ISO 8601 date"],
    [
      canary,
      1,
      "[1]: field 5 is unknown: the fields are id, name, tenant, scopes, secretSha256, certificateName, expires",
    ],
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
    [`{"acme": [${canary}]}`, "must be a JSON object"],
    [`["${canary}"]`, "must be a JSON object"],
    [`{"${canary}!": ["${secret}"]}`, "name 1: must match"],
    [`{"default": ["${secret}"]}`, "default: must not be listed, because its secrets are those of AUTH_SECRET"],
    [`{"acme": "${canary}"}`, "acme: must be a list of secrets"],
    [`{"acme": []}`, "acme: must be a list of secrets"],
    [`{"acme": ["${secret}", "${canary}"]}`, "acme[1]: must have 32 bytes or more"],
    [`{"acme": ["${secret}", 12345]}`, "acme[1]: must be a string"],
  ])("the error for %s has its tenant and rule, and not its value", (text, rule) => {
    const said = complaint(() => parseTenantSecrets(text, { short: false }))
    expect(said.slice(0, rule.length)).toBe(rule)
    expect(said).not.toContain(canary)
  })
})
