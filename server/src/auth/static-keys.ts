import type { ApiKey } from "../store/types.js"
import { InvalidValueError } from "../util/invalid-value-error.js"
import { isKeyId } from "./api-key.js"
import { certificateNameForm, isKeyName, parseDate, tenantName } from "./key-fields.js"
import { scopes, unknownScope } from "./scopes.js"

/** A key from the configuration. */
export type StaticKey = Omit<ApiKey, "created" | "revoked">

const fields = ["id", "name", "tenant", "scopes", "secretSha256", "certificateName", "expires"]

/**
 * Parses a JSON list of keys:
 * `[{ "id", "name", "tenant"?, "scopes": […], "secretSha256"?, "certificateName"?, "expires"? }]`. Each needs at least
 * one of `secretSha256` (hexadecimal) and `certificateName`. Throws InvalidValueError.
 */
export function parseStaticKeys(text: string): StaticKey[] {
  let entries: unknown
  try {
    entries = JSON.parse(text)
  } catch {
    // The error message of JSON.parse quotes the text.
    throw new InvalidValueError("must be a list in JSON")
  }
  if (!Array.isArray(entries)) throw new InvalidValueError("must be a list in JSON")
  const keys = entries.map((entry: unknown, index) => readEntry(entry, index))
  for (const [index, { id }] of keys.entries()) {
    if (keys.findIndex((key) => key.id === id) !== index)
      throw new InvalidValueError(`[${index}].id: is taken by another`)
  }
  return keys
}

function readEntry(entry: unknown, index: number): StaticKey {
  const broken = (field: string, rule: string) => new InvalidValueError(`[${index}]${field}: ${rule}`)
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) throw broken("", "must be an object")
  const given = entry as Record<string, unknown>
  // An unknown field is rejected, because its author meant something by it, such as an expiry.
  const unknown = Object.keys(given).findIndex((field) => !fields.includes(field))
  if (unknown >= 0) throw broken("", `the fields are ${fields.join(", ")}, and field ${unknown + 1} is none of them`)
  const { id, name, tenant = "default", scopes: wanted, secretSha256, certificateName, expires } = given
  if (typeof id !== "string" || !isKeyId(id)) throw broken(".id", "must be 16 of a-z and 0-9")
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
    throw broken(".certificateName", "must be a name as certificates have it, such as DNS:app.internal")
  }
  if (expires !== undefined && parseDate(expires) === undefined) {
    throw broken(".expires", "must be a date in ISO 8601, such as 2030-01-31 or 2030-01-31T12:00:00Z")
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
