import { formatKey, hashSecret, isKeyId, newKey } from "../../auth/api-key.js"
import { StartError } from "../../bootstrap/start-error.js"
import { StoreError } from "../../store/error.js"
import type { ApiKey } from "../../store/types.js"
import type { Configuration } from "../config/configuration.js"
import { ConfigurationError } from "../config/error.js"
import { type CommandOutput, table } from "./output.js"
import { withStore } from "./with-store.js"

/** `authwire keys create`. Throws StartError. */
export async function createKey(
  configuration: Configuration<"keys create">,
  { print, say }: CommandOutput,
): Promise<undefined> {
  const { name, tenant, scopes, certificateName, expires } = configuration
  const parts = newKey()
  const secretHash = hashSecret(parts.secret)
  if (configuration.offline) {
    const secretSha256 = secretHash.toString("hex")
    const entry = { id: parts.id, name, tenant, scopes, secretSha256, certificateName, expires }
    print(`${formatKey(parts)}\n${JSON.stringify(entry)}\n`)
    say("The first line is the key, and shown only here. The second is its entry in the list of AUTHWIRE_API_KEYS.\n")
    return
  }
  await withStore(configuration, async ({ apiKeys }) => {
    try {
      const key = { id: parts.id, name, tenant, scopes, secretHash, certificateName, expires, created: new Date() }
      await apiKeys.create({}, key)
    } catch (error) {
      if (!(error instanceof StoreError && error.reason === "TENANT_NOT_FOUND")) throw error
      throw new StartError(`there is no tenant ${tenant}: make it with: authwire tenants create ${tenant}`)
    }
  })
  print(`${formatKey(parts)}\n`)
  say("This key is shown only once: the service keeps a hash of it. It works from now on.\n")
}

/** `authwire keys list`. Throws StartError. */
export async function listKeys(
  configuration: Configuration<"keys list">,
  { print }: CommandOutput,
): Promise<undefined> {
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

/** `authwire keys revoke ID`. Throws ConfigurationError and StartError. */
export async function revokeKey(
  configuration: Configuration<"keys revoke">,
  { print }: CommandOutput,
  id: string,
): Promise<undefined> {
  // A text that is not an id may be a whole key, so it is not repeated.
  if (!isKeyId(id)) throw new ConfigurationError("keys revoke: must be the id of a key, as authwire keys list shows it")
  const key = await withStore(configuration, ({ apiKeys }) => apiKeys.revoke({}, id, new Date()))
  if (key === null) throw new StartError(`there is no key ${id}; see authwire keys list`)
  print(`revoked ${id}: within 5 seconds it lets nobody in, on any server\n`)
}
