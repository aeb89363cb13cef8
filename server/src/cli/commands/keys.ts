import { formatKey, hashSecret, isKeyId, newKey } from "../../auth/api-key.js"
import { scopePresets } from "../../auth/scope-presets.js"
import { ConfigurationError } from "../../errors/configuration-error.js"
import { StartError } from "../../errors/start-error.js"
import { StoreError } from "../../errors/store-error.js"
import { apiKeyStore, type Database, databaseClock } from "../../store/sql/index.js"
import type { ApiKey } from "../../store/types.js"
import { table, type Work } from "./output.js"
import { requireTenant, withDatabase } from "./with-database.js"

/** `authwire keys create`. Throws StartError. */
export const createKey: Work<"keys create"> = async (configuration, { print, say }) => {
  const { name, tenant, scopes, certificateName, expires } = configuration
  const parts = newKey()
  const secretHash = hashSecret(parts.secret)
  if (configuration.offline) {
    const secretSha256 = secretHash.toString("hex")
    const entry = { id: parts.id, name, tenant, scopes, secretSha256, certificateName, expires }
    await print(`${formatKey(parts)}\n${JSON.stringify(entry)}\n`)
    say(
      "The first line is the key, which is shown only once. The second line is its entry in the list of AUTHWIRE_API_KEYS.\n",
    )
    return
  }
  const replaced = await withDatabase(configuration, async (database) => {
    const apiKeys = apiKeyStore(database)
    const now = await timeOf(database)
    const namesakes =
      certificateName === undefined
        ? []
        : (await apiKeys.list({})).filter(
            (key) => key.certificateName === certificateName && stateOf(key, now) === "valid",
          )
    const foreign = namesakes.find((key) => key.tenant !== tenant)
    if (foreign !== undefined) {
      throw new StartError(
        `--certificate-name: must not be the name of a valid key of another tenant: the key ${foreign.id} of the tenant ${foreign.tenant} has it`,
      )
    }
    try {
      const key = { id: parts.id, name, tenant, scopes, secretHash, certificateName, expires, created: now }
      await apiKeys.create({}, key)
    } catch (error) {
      if (!(error instanceof StoreError && error.reason === "TENANT_NOT_FOUND")) throw error
      await requireTenant(database, tenant)
      throw error
    }
    return namesakes.map(({ id }) => id)
  })
  await print(`${formatKey(parts)}\n`)
  say("This key is shown only once, because the service keeps only a hash of it. It is valid from now on.\n")
  if (replaced.length > 0)
    say(`For clients with its certificate name it replaces these valid keys: ${replaced.join(", ")}\n`)
}

/** Reads the database's clock, which decides when keys end and, by their times of creation, which one a certificate gets. */
const timeOf = (database: Database): Promise<Date> => databaseClock(database)(database.reads({}))

function stateOf({ revoked, expires }: ApiKey, now: Date): "revoked" | "expired" | "valid" {
  if (revoked !== undefined) return "revoked"
  return expires !== undefined && expires <= now ? "expired" : "valid"
}

/** The most scopes that a line of the list has. */
const maxScopes = 3

/** Returns the name of the preset that has these scopes, or the first of them. `--json` prints all. */
function shownScopes(scopes: readonly string[]): string {
  const sorted = [...scopes].sort().join()
  const preset = scopePresets.find((one) => [...one.scopes].sort().join() === sorted)
  if (preset !== undefined && scopes.length > 1) return preset.name
  const more = scopes.length - maxScopes
  return scopes.slice(0, maxScopes).join(",") + (more > 0 ? ` and ${more} more` : "")
}

/** `authwire keys list`. Throws StartError. */
export const listKeys: Work<"keys list"> = async (configuration, { print }) => {
  const [now, all] = await withDatabase(
    { ...configuration, readOnly: true },
    async (database) => [await timeOf(database), await apiKeyStore(database).list({})] as const,
  )
  const date = (time: Date | undefined) => time?.toISOString().replace(/\.\d+Z$/, "Z") ?? "never"
  if (configuration.json) {
    const text = all.map((key) => {
      const { secretHash: _, ...shown } = key
      return `${JSON.stringify({ ...shown, state: stateOf(key, now) })}\n`
    })
    await print(text.join(""))
    return
  }
  const head = ["id", "name", "tenant", "scopes", "certificate", "created", "expires", "state"]
  const rows = all.map((key) => [
    key.id,
    key.name,
    key.tenant,
    shownScopes(key.scopes),
    key.certificateName ?? "",
    date(key.created),
    date(key.expires),
    stateOf(key, now),
  ])
  print(table(head, rows))
}

/** `authwire keys revoke ID`. Throws ConfigurationError and StartError. */
export const revokeKey: Work<"keys revoke"> = async (configuration, { print }, id) => {
  // A text that is not an id may be a whole key, so it is not repeated.
  if (!isKeyId(id)) throw new ConfigurationError("keys revoke: must be the id of a key, as authwire keys list shows it")
  const key = await withDatabase(configuration, async (database) =>
    apiKeyStore(database).revoke({}, id, await timeOf(database)),
  )
  if (key === null) throw new StartError(`there is no key ${id}; see authwire keys list`)
  print(`revoked ${id}: within 5 seconds every server rejects it\n`)
}
