import { InvalidValueError } from "../errors/invalid-value-error.js"
import type { ApiKey } from "../store/types.js"
import { isKeyId } from "./api-key.js"
import { certificateNameForm, isKeyName, parseDate, tenantName } from "./key-fields.js"
import { scopes, unknownScope } from "./scopes.js"

/** A key from the configuration. */
export type StaticKey = Omit<ApiKey, "created" | "revoked">

const fields = ["id", "name", "tenant", "scopes", "secretSha256", "certificateName", "expires"]

/**
 * Parses a JSON list of keys:
 * `[{ "id", "name", "tenant"?, "scopes": […], "secretSha256"?, "certificateName"?, "expires"? }]`. Each needs at least
 * one of `secretSha256` (hexadecimal) and `certificateName`. An id appears once, and so does the `certificateName` of keys
 * that have not expired. Throws InvalidValueError.
 */
export function parseStaticKeys(text: string): StaticKey[] {
  let entries: unknown
  try {
    entries = JSON.parse(text)
  } catch {
    // The error message of JSON.parse quotes the text.
    throw new InvalidValueError("must be a JSON array")
  }
  if (!Array.isArray(entries)) throw new InvalidValueError("must be a JSON array")
  const keys = entries.map((entry: unknown, index) => readEntry(entry, index))
  for (const [index, { id }] of keys.entries()) {
    if (keys.findIndex((key) => key.id === id) !== index)
      throw new InvalidValueError(`[${index}].id: is the id of another entry`)
  }
  const now = new Date()
  const names = new Set<string>()
  for (const [index, { certificateName, expires }] of keys.entries()) {
    if (certificateName === undefined || (expires !== undefined && expires <= now)) continue
    if (names.has(certificateName))
      throw new InvalidValueError(
        `[${index}].certificateName: is the certificate name of another entry that has not expired`,
      )
    names.add(certificateName)
  }
  return keys
}

function readEntry(entry: unknown, index: number): StaticKey {
  const broken = (field: string, rule: string) => new InvalidValueError(`[${index}]${field}: ${rule}`)
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) throw broken("", "must be an object")
  const given = entry as Record<string, unknown>
  // An unknown field is rejected, because its author meant something by it, such as an expiry.
  const unknown = Object.keys(given).findIndex((field) => !fields.includes(field))
  if (unknown >= 0) throw broken("", `field ${unknown + 1} is unknown: the fields are ${fields.join(", ")}`)
  const { id, name, tenant = "default", scopes: wanted, secretSha256, certificateName, expires } = given
  if (typeof id !== "string" || !isKeyId(id)) throw broken(".id", "must be 16 characters of a-z and 0-9")
  if (typeof name !== "string" || !isKeyName(name)) {
    throw broken(".name", "must be 1 to 255 characters, none of them a control character")
  }
  if (typeof tenant !== "string" || !tenantName.test(tenant)) throw broken(".tenant", `must match ${tenantName.source}`)
  if (!Array.isArray(wanted) || unknownScope(wanted) !== undefined) {
    throw broken(".scopes", `must be a list of one or more of ${["all", ...scopes].join(", ")}`)
  }
  if (secretSha256 === undefined && certificateName === undefined) {
    throw broken("", "must have secretSha256 or certificateName")
  }
  if (secretSha256 !== undefined && !(typeof secretSha256 === "string" && /^[0-9a-f]{64}$/i.test(secretSha256))) {
    throw broken(".secretSha256", "must be 64 hexadecimal digits: the SHA-256 of the key's last part")
  }
  if (
    certificateName !== undefined &&
    !(typeof certificateName === "string" && certificateNameForm.test(certificateName))
  ) {
    throw broken(
      ".certificateName",
      "must be a subject alternative name of a certificate with its type, such as DNS:app.internal",
    )
  }
  if (expires !== undefined && parseDate(expires) === undefined) {
    throw broken(".expires", "must be an ISO 8601 date, such as 2030-01-31 or 2030-01-31T12:00:00Z")
  }
  return {
    id,
    name,
    tenant,
    scopes: wanted as string[],
    secretHash: secretSha256 === undefined ? undefined : Buffer.from(secretSha256 as string, "hex"),
    certificateName: certificateName as string | undefined,
    expires: parseDate(expires),
  }
}
