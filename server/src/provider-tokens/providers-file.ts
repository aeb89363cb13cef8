import { z } from "zod"
import { tenantName } from "../auth/key-fields.js"
import { InvalidValueError } from "../errors/invalid-value-error.js"
import { isLoopback } from "../util/address.js"
import { isObject, parsedJson } from "../util/json.js"
import { checkPrivateKey, importPrivateKey, signingAlgorithms } from "./private-key.js"
import {
  accountPolicies,
  authMethods,
  bodyFormats,
  type ClientCredentials,
  errorKinds,
  type Provider,
  type Providers,
} from "./provider.js"
import { type SecretSources, secretOf } from "./secret-source.js"

const defaultTimeoutSeconds = 10

const text = (max: number) =>
  z
    .string("must be a string")
    .min(1, "must not be empty")
    .max(max, `must have at most ${max} characters`)
    .refine((value) => !/\p{Cc}/u.test(value), "must not have control characters")

const httpsUrl = text(2048).refine(
  isAllowedUrl,
  "must be a URL that begins with https://, or with http:// on loopback, without a user, a password and a fragment",
)

const oneOf = <const Values extends readonly string[]>(values: Values) =>
  z.enum(values, `must be one of ${values.join(", ")}`)

/** Parameters that the service sets by itself. */
const ownParameters = new Set([
  "grant_type",
  "refresh_token",
  "client_id",
  "client_secret",
  "client_assertion",
  "client_assertion_type",
])
const parameterName = /^[\w.-]{1,64}$/
const fields = {
  token_endpoint: httpsUrl,
  issuer: httpsUrl.optional(),
  client_id: text(1024),
  client_id_parameter: text(64).regex(parameterName, "must have letters, digits and _ . - only").default("client_id"),
  auth_method: oneOf(authMethods).default("client_secret_basic"),
  client_secret_env: text(255).optional(),
  client_secret_file: text(4096).optional(),
  private_key_env: text(255).optional(),
  private_key_file: text(4096).optional(),
  private_key_id: text(255).optional(),
  private_key_algorithm: oneOf(signingAlgorithms).default("RS256"),
  body_format: oneOf(bodyFormats).default("form"),
  parameters: z
    .record(z.string(), text(4096), "must be an object")
    .refine(
      (given) => Object.keys(given).every((name) => parameterName.test(name) && !ownParameters.has(name)),
      `must have names of letters, digits and _ . - other than ${[...ownParameters].join(", ")}`,
    )
    .default({}),
  error_codes: z
    .record(z.string(), oneOf(errorKinds), "must be an object")
    .refine(
      (given) => Object.keys(given).every((code) => /^[\w.-]{1,32}$/.test(code)),
      "must have error codes as names",
    )
    .default({}),
  timeout_seconds: z
    .int("must be a whole number from 1 to 30")
    .min(1, "must be a whole number from 1 to 30")
    .max(30, "must be a whole number from 1 to 30")
    .default(defaultTimeoutSeconds),
  signals: z.boolean("must be true or false").default(false),
  account_ended: oneOf(accountPolicies).default("revoke"),
}
const entry = z.strictObject(fields, "must be an object")

/**
 * Parses the providers of tenants, such as `{"default": {"github": {"token_endpoint": "https://…", "client_id": "…",
 * "client_secret_env": "GITHUB_SECRET"}}}`. Secrets come from the environment or from files of their own. Such a file
 * is read again at every use. Throws InvalidValueError, which names the tenant, the provider and the field, but no
 * value.
 */
export function parseProviders(json: string, sources: SecretSources): Providers {
  const given = parsedJson(json)
  if (!isObject(given)) throw new InvalidValueError("must be a JSON object")
  const tenants = new Map<string, ReadonlyMap<string, Provider>>()
  for (const [index, [tenant, list]] of Object.entries(given).entries()) {
    if (!tenantName.test(tenant)) {
      throw new InvalidValueError(`name ${index + 1}: must be that of a tenant and match ${tenantName.source}`)
    }
    if (!isObject(list)) throw new InvalidValueError(`${tenant}: must be an object with a provider for each name`)
    const providers = new Map<string, Provider>()
    for (const [at, [name, value]] of Object.entries(list).entries()) {
      // The message does not quote the name, because an invalid name may be a misplaced secret.
      if (!/^[\w.:-]{1,64}$/.test(name)) {
        throw new InvalidValueError(
          `${tenant}: name ${at + 1}: must be 1 to 64 characters: letters, digits and _ . : -`,
        )
      }
      providers.set(name, readProvider(`${tenant}.${name}`, value, sources))
    }
    tenants.set(tenant, providers)
  }
  return { of: (tenant, name) => tenants.get(tenant)?.get(name) }
}

function readProvider(label: string, value: unknown, sources: SecretSources): Provider {
  const { data, error } = entry.safeParse(value)
  if (error !== undefined) throw new InvalidValueError(problemOf(label, value, error))
  if (data.signals && data.issuer === undefined)
    throw new InvalidValueError(`${label}.issuer: is missing, and signals need it`)
  return {
    tokenEndpoint: data.token_endpoint,
    issuer: data.issuer,
    clientId: data.client_id,
    clientIdName: data.client_id_parameter,
    credentials: credentialsOf(label, data, sources),
    bodyFormat: data.body_format,
    parameters: data.parameters,
    errorCodes: new Map(Object.entries(data.error_codes)),
    timeoutMs: data.timeout_seconds * 1000,
    signals: data.signals ? data.account_ended : undefined,
  }
}

/** The fields that name the source of a secret. */
const secretFields = ["client_secret_env", "client_secret_file", "private_key_env", "private_key_file"] as const

function credentialsOf(name: string, data: z.infer<typeof entry>, sources: SecretSources): ClientCredentials {
  const method = data.auth_method
  const given = secretFields.filter((field) => data[field] !== undefined)
  if (method === "none") {
    if (given.length === 0) return { method }
    throw new InvalidValueError(`${name}: the auth_method none must not be combined with ${given.join(", ")}`)
  }
  const prefix = method === "private_key_jwt" ? "private_key" : "client_secret"
  const [source] = given
  if (given.length !== 1 || !source?.startsWith(prefix)) {
    throw new InvalidValueError(`${name}: must have one of ${prefix}_env and ${prefix}_file, and no other secret`)
  }
  const label = `${name}.${source}`
  const isFile = source.endsWith("_file")
  if (method !== "private_key_jwt") {
    return { method, secret: secretOf(label, data[source] as string, isFile, sources) }
  }
  const { private_key_id: keyId, private_key_algorithm: algorithm } = data
  const text = secretOf(label, data[source] as string, isFile, sources, (key) => checkPrivateKey(key, algorithm))
  return { method, keyId, key: async () => importPrivateKey(await text(), algorithm) }
}

function problemOf(label: string, value: unknown, { issues: [issue] }: z.ZodError): string {
  if (issue?.code === "unrecognized_keys") {
    return `${label}: the fields are ${Object.keys(fields).join(", ")}, and another one is there`
  }
  const field = issue?.path[0]
  if (field === undefined) return `${label}: ${issue?.message}`
  const isMissing = isObject(value) && value[String(field)] === undefined
  return `${label}.${String(field)}: ${isMissing ? "is missing" : issue?.message}`
}

/** Whether the service connects to a URL: `https:`, or `http:` on loopback, without a user, a password and a fragment. */
export function isAllowedUrl(value: string): boolean {
  if (!URL.canParse(value)) return false
  const { protocol, hostname, username, password, hash } = new URL(value)
  if (username !== "" || password !== "" || hash !== "" || value.endsWith("#")) return false
  const host = hostname.replace(/^\[(.*)\]$/, "$1")
  return protocol === "https:" || (protocol === "http:" && isLoopback({ host }))
}
