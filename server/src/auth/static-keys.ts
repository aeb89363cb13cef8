import { z } from "zod"
import { InvalidValueError } from "../errors/invalid-value-error.js"
import type { ApiKey } from "../store/types.js"
import { parsedJson } from "../util/json.js"
import { isKeyId } from "./api-key.js"
import { certificateNameForm, isKeyName, parseDate, tenantName } from "./key-fields.js"
import { areScopes, scopes } from "./scopes.js"

/** A key from the configuration. */
export type StaticKey = Omit<ApiKey, "created" | "revoked">

/** A text in this form. */
const text = (isValid: (value: string) => boolean, rule: string) =>
  z.custom<string>((value) => typeof value === "string" && isValid(value), rule)

const fields = {
  id: text(isKeyId, "must be 16 characters of a-z and 0-9"),
  name: text(isKeyName, "must be 1 to 255 characters, none of them a control character"),
  tenant: text((name) => tenantName.test(name), `must match ${tenantName.source}`).default("default"),
  scopes: z.custom<string[]>(
    (list) => Array.isArray(list) && areScopes(list),
    `must be a list of one or more of ${["all", ...scopes].join(", ")}`,
  ),
  secretSha256: text(
    (hex) => /^[0-9a-f]{64}$/i.test(hex),
    "must be 64 hexadecimal digits: the SHA-256 of the key's last part",
  ).optional(),
  certificateName: text(
    (name) => certificateNameForm.test(name),
    "must be a subject alternative name of a certificate with its type, such as DNS:app.internal",
  ).optional(),
  expires: text(
    (date) => parseDate(date) !== undefined,
    "must be an ISO 8601 date, such as 2030-01-31 or 2030-01-31T12:00:00Z",
  ).optional(),
}

const entryForm = z
  .strictObject(fields, "must be an object")
  .refine((key) => key.secretSha256 !== undefined || key.certificateName !== undefined, {
    error: "must have secretSha256 or certificateName",
  })

/**
 * Parses a JSON list of keys:
 * `[{ "id", "name", "tenant"?, "scopes": […], "secretSha256"?, "certificateName"?, "expires"? }]`. Each needs at least
 * one of `secretSha256` (hexadecimal) and `certificateName`. An id appears once, and so does the `certificateName` of keys
 * that have not expired. Throws InvalidValueError.
 */
export function parseStaticKeys(text: string): StaticKey[] {
  const entries = parsedJson(text)
  if (!Array.isArray(entries)) throw new InvalidValueError("must be a JSON array")
  const keys = entries.map(readEntry)
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
  const { data, error } = entryForm.safeParse(entry)
  if (error !== undefined) throw new InvalidValueError(`[${index}]${problemOf(entry, error)}`)
  const { secretSha256, expires, certificateName, ...key } = data
  return {
    ...key,
    secretHash: secretSha256 === undefined ? undefined : Buffer.from(secretSha256, "hex"),
    certificateName,
    expires: parseDate(expires),
  }
}

/** Returns the field and the rule that an entry breaks, without its value and without an unknown name. */
function problemOf(entry: unknown, { issues: [issue] }: z.ZodError): string {
  if (issue?.code === "unrecognized_keys") {
    const unknown = Object.keys(entry as object).indexOf(issue.keys[0] as string)
    return `: field ${unknown + 1} is unknown: the fields are ${Object.keys(fields).join(", ")}`
  }
  return `${issue?.path.map((field) => `.${String(field)}`).join("")}: ${issue?.message}`
}
