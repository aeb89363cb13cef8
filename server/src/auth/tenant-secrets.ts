import { InvalidValueError } from "../errors/invalid-value-error.js"
import { isObject, parsedJson } from "../util/json.js"
import { tenantName } from "./key-fields.js"

/** The shortest secret, in bytes. */
const minBytes = 32

/**
 * Parses the secrets of tenants, `{"acme": ["newest", "older"]}`, at least one per tenant. Throws InvalidValueError.
 *
 * @param options.short whether short secrets are allowed, as in development
 */
export function parseTenantSecrets(text: string, options: { short: boolean }): ReadonlyMap<string, readonly string[]> {
  const given = parsedJson(text)
  if (!isObject(given)) throw new InvalidValueError("must be a JSON object")
  const secrets = new Map<string, readonly string[]>()
  for (const [index, [tenant, list]] of Object.entries(given).entries()) {
    // An invalid name may be a misplaced secret, so the error does not contain it.
    if (!tenantName.test(tenant)) throw new InvalidValueError(`name ${index + 1}: must match ${tenantName.source}`)
    if (tenant === "default")
      throw new InvalidValueError("default: must not be listed, because its secrets are those of AUTH_SECRET")
    if (!Array.isArray(list) || list.length === 0) throw new InvalidValueError(`${tenant}: must be a list of secrets`)
    for (const [at, secret] of list.entries()) {
      if (typeof secret !== "string" || secret === "") throw new InvalidValueError(`${tenant}[${at}]: must be a string`)
      if (!options.short && Buffer.byteLength(secret) < minBytes) {
        throw new InvalidValueError(`${tenant}[${at}]: must have ${minBytes} bytes or more`)
      }
    }
    secrets.set(tenant, list as string[])
  }
  return secrets
}
