import { formatKey, hashSecret, isKeyId, newKey } from "../../access/api-key.js"
import { certificateNameForm, isKeyName, parseDate, tenantName, unknownScope } from "../../access/given-keys.js"
import { scopes as knownScopes } from "../../access/scopes.js"
import { StoreError } from "../../store/error.js"
import type { ApiKey } from "../../store/types.js"
import type { Configuration, Given } from "../config/configuration.js"
import { ConfigurationError } from "../config/error.js"
import { withStore } from "../../bootstrap/database.js"
import { StartError } from "../../bootstrap/start-error.js"
import { table } from "./table.js"

export interface CommandOutput {
  /** Standard output: what was asked for. */
  print: (text: string) => void
  /** Standard error: what to know about it. */
  say: (text: string) => void
}

/** `authwire keys create|list|revoke ID`. Throws ConfigurationError and StartError. */
export async function keys(
  configuration: Configuration,
  args: readonly string[],
  given: Given,
  io: CommandOutput,
): Promise<void> {
  const [action, id] = args
  const isWhole = args.length === (action === "revoke" ? 2 : 1)
  if (action === "create" && isWhole) return await createKey(configuration, given, io)
  if (action === "list" && isWhole) return await listKeys(configuration, io)
  if (action === "revoke" && isWhole) return await revokeKey(configuration, id ?? "", io)
  throw new ConfigurationError("keys: must be one of create, list, revoke ID; see authwire --help")
}

async function createKey(configuration: Configuration, given: Given, { print, say }: CommandOutput): Promise<void> {
  const now = new Date()
  const wanted = readWanted(given, now)
  const parts = newKey()
  const secretHash = hashSecret(parts.secret)
  if (given.offline === true) {
    const { name, tenant, scopes, certificateName, expires } = wanted
    const secretSha256 = secretHash.toString("hex")
    const entry = { id: parts.id, name, tenant, scopes, secretSha256, certificateName, expires }
    print(`${formatKey(parts)}\n${JSON.stringify(entry)}\n`)
    say("The first line is the key, and shown only here. The second is its entry in the list of AUTHWIRE_API_KEYS.\n")
    return
  }
  await withStore(configuration, async ({ apiKeys }) => {
    try {
      await apiKeys.create({}, { ...wanted, id: parts.id, secretHash, created: now })
    } catch (error) {
      if (!(error instanceof StoreError && error.reason === "TENANT_NOT_FOUND")) throw error
      throw new StartError(
        `there is no tenant ${wanted.tenant}: make it with: authwire tenants create ${wanted.tenant}`,
      )
    }
  })
  print(`${formatKey(parts)}\n`)
  say("This key is shown only once: the service keeps a hash of it. It works from now on.\n")
}

async function listKeys(configuration: Configuration, { print }: CommandOutput): Promise<void> {
  const all = await withStore(configuration, ({ apiKeys }) => apiKeys.list({}))
  const now = new Date()
  const date = (time: Date | undefined) => time?.toISOString().replace(/\.\d+Z$/, "Z") ?? "never"
  const state = ({ revoked, expires }: ApiKey) =>
    revoked !== undefined ? "revoked" : expires !== undefined && expires <= now ? "expired" : "valid"
  const head = ["id", "name", "tenant", "scopes", "certificate", "created", "expires", "state"]
  const rows = all.map((key) => [
    key.id,
    key.name,
    key.tenant,
    key.scopes.join(","),
    key.certificateName ?? "",
    date(key.created),
    date(key.expires),
    state(key),
  ])
  print(table(head, rows))
}

async function revokeKey(configuration: Configuration, id: string, { print }: CommandOutput): Promise<void> {
  // What is no id may be a whole key, which is not to be repeated.
  if (!isKeyId(id)) throw new ConfigurationError("keys revoke: must be the id of a key, as authwire keys list shows it")
  const key = await withStore(configuration, ({ apiKeys }) => apiKeys.revoke({}, id, new Date()))
  if (key === null) throw new StartError(`there is no key ${id}; see authwire keys list`)
  print(`revoked ${id}: within 5 seconds it lets nobody in, on any server\n`)
}

/** The options of `keys create`, checked. */
function readWanted(given: Given, now: Date) {
  const { name, scopes, tenant = "default", expires, "certificate-name": certificateName } = given
  if (typeof name !== "string" || !isKeyName(name)) {
    throw new ConfigurationError("--name: is required: 1 to 255 characters, none of them a control character")
  }
  const list = typeof scopes === "string" ? scopes.split(",").map((one) => one.trim()) : []
  if (unknownScope(list) !== undefined) {
    const known = ["all", ...knownScopes].join(", ")
    throw new ConfigurationError(`--scopes: must be one or more of these, separated by commas: ${known}`)
  }
  if (typeof tenant !== "string" || !tenantName.test(tenant)) {
    throw new ConfigurationError("--tenant: must be 1 to 63 of a-z, 0-9 and -, and not begin with -")
  }
  if (certificateName !== undefined && !certificateNameForm.test(String(certificateName))) {
    throw new ConfigurationError("--certificate-name: must be a name as certificates have it, such as DNS:app.internal")
  }
  return {
    name,
    tenant,
    scopes: [...new Set(list)],
    certificateName: certificateName === undefined ? undefined : String(certificateName),
    expires: expires === undefined ? undefined : readExpires(String(expires), now),
  }
}

const units: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 }

function readExpires(text: string, now: Date): Date {
  const [, count, unit = ""] = /^([1-9]\d{0,5})([dhms])$/.exec(text) ?? []
  const date = count === undefined ? parseDate(text) : new Date(now.getTime() + Number(count) * (units[unit] ?? 0))
  if (date === undefined) {
    throw new ConfigurationError(
      "--expires: must be a time from now, such as 90d, 12h, 30m or 45s, or a date of ISO 8601",
    )
  }
  if (date <= now) throw new ConfigurationError("--expires: must lie in the future")
  return date
}
