import { readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { resolve } from "node:path"
import { z } from "zod"
import { tenantName } from "../auth/key-fields.js"
import { InvalidValueError } from "../errors/invalid-value-error.js"
import { isLoopback } from "../util/address.js"
import { isObject, parsedJson } from "../util/json.js"
import { authMethods, type Provider, type Providers } from "./provider.js"

const maxSecretBytes = 16_384
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

const fields = {
  token_endpoint: httpsUrl,
  issuer: httpsUrl.optional(),
  client_id: text(1024),
  auth_method: z.enum(authMethods, `must be one of ${authMethods.join(", ")}`).default("client_secret_basic"),
  client_secret_env: text(255).optional(),
  client_secret_file: text(4096).optional(),
  timeout_seconds: z
    .int("must be a whole number from 1 to 30")
    .min(1, "must be a whole number from 1 to 30")
    .max(30, "must be a whole number from 1 to 30")
    .default(defaultTimeoutSeconds),
}
const entry = z.strictObject(fields, "must be an object")

/** The sources of secrets. */
export interface SecretSources {
  env: Readonly<Record<string, string | undefined>>
  /** The folder to which relative paths in the file refer. */
  folder: string
}

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
  const { client_secret_env: variable, client_secret_file: file, auth_method: authMethod } = data
  const count = [variable, file].filter((source) => source !== undefined).length
  if (authMethod === "none" && count > 0) {
    throw new InvalidValueError(
      `${label}: the auth_method none must not be combined with client_secret_env or client_secret_file`,
    )
  }
  if (authMethod !== "none" && count !== 1) {
    throw new InvalidValueError(`${label}: must have one of client_secret_env and client_secret_file`)
  }
  return {
    tokenEndpoint: data.token_endpoint,
    issuer: data.issuer,
    clientId: data.client_id,
    authMethod,
    clientSecret: authMethod === "none" ? undefined : secretOf(label, { variable, file }, sources),
    timeoutMs: data.timeout_seconds * 1000,
  }
}

function secretOf(
  label: string,
  { variable, file }: { variable: string | undefined; file: string | undefined },
  { env, folder }: SecretSources,
): () => Promise<string> {
  if (file === undefined) {
    const secret = env[variable as string]
    if (!secret) throw new InvalidValueError(`${label}.client_secret_env: the environment variable is not set or empty`)
    return async () => secret
  }
  const path = resolve(folder, file)
  const checked = (content: string): string => {
    const secret = content.replace(/\r?\n$/, "")
    if (secret === "" || Buffer.byteLength(secret) > maxSecretBytes) {
      throw new InvalidValueError(`${label}.client_secret_file: the file must have 1 to ${maxSecretBytes} bytes`)
    }
    return secret
  }
  let known: string
  try {
    known = checked(readFileSync(path, "utf8"))
  } catch (error) {
    if (error instanceof InvalidValueError) throw error
    const { code = "unknown" } = error as NodeJS.ErrnoException
    throw new InvalidValueError(`${label}.client_secret_file: the file cannot be read (${code})`)
  }
  let reading: Promise<string> | undefined
  // A replaced secret is used at once. While the file is missing, as it is briefly during a replacement, the last
  // secret is used.
  const read = async () => {
    try {
      known = checked(await readFile(path, "utf8"))
    } catch {}
    reading = undefined
    return known
  }
  // Concurrent refreshes share one read, because each read of a file system that does not answer blocks a thread of
  // Node's thread pool. Four of them would block the whole process.
  return () => {
    reading ??= read()
    return reading
  }
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

function isAllowedUrl(value: string): boolean {
  if (!URL.canParse(value)) return false
  const { protocol, hostname, username, password, hash } = new URL(value)
  if (username !== "" || password !== "" || hash !== "" || value.endsWith("#")) return false
  const host = hostname.replace(/^\[(.*)\]$/, "$1")
  return protocol === "https:" || (protocol === "http:" && isLoopback({ host }))
}
