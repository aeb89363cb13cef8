import type { Logger } from "pino"
import { Key } from "../auth/key.js"
import { openKeyring } from "../auth/keyring.js"
import { parseStaticKeys } from "../auth/static-keys.js"
import type { Configuration } from "../config/configuration.js"
import { refusalOf } from "../errors/refusal.js"
import { StartError } from "../errors/start-error.js"
import type { Access } from "../rpc/interceptor.js"
import { access } from "../rpc/interceptors/auth.js"
import type { Store } from "../store/store.js"
import { isLoopback } from "../util/address.js"
import { elapsedTime } from "../util/elapsed-time.js"
import { followFile, readGiven } from "./followed-files.js"

type StaticKeys = ReturnType<typeof parseStaticKeys>

const flag = "--api-keys-file"

/** Opens the API keys of the database and of the configuration. Throws StartError if a file cannot be read. */
export async function openAccess(
  configuration: Configuration,
  { store, log }: { store: Store; log: Logger },
): Promise<{ interceptor: Access; stop(): void }> {
  const keyring = await openKeyring({ apiKeys: store.apiKeys, log, clock: elapsedTime(), now: store.now })
  const { apiKeys, apiKeysFile: path } = configuration
  const give = (keys: StaticKeys) => keyring.setStaticKeys(keys.map((key) => new Key(key)))
  if (apiKeys !== undefined) give(parseStaticKeys(apiKeys))
  const what = "the file of API keys"
  const file = followFile({ flag, path, what, log, parse: parseStaticKeys, onContents: give })
  return {
    interceptor: access({ keyring, keyless: configuration.dev, now: store.now }),
    stop() {
      file.stop()
      keyring.stop()
    },
  }
}

/**
 * Checks that there is an API key, because a service that requires keys and has none is useless. If all addresses are
 * loopback, it only logs how to create a key. Throws StartError if an address is reachable from elsewhere, or if a file
 * of keys cannot be read.
 */
export async function requireKeys(
  configuration: Configuration,
  { store, log }: { store: Store; log: Logger },
): Promise<void> {
  if (configuration.dev) return
  const given = staticKeys(configuration)
  if (given.length > 0) return warnOfTenants(given, { store, log })
  try {
    const now = await store.expired.now({})
    for (let after: string | undefined = ""; after !== undefined; ) {
      const { keys, next } = await store.apiKeys.listValid({}, now, after)
      if (keys.some(({ expires }) => expires === undefined || expires > now)) return
      after = next
    }
  } catch (error) {
    throw new StartError(`cannot read the API keys: ${refusalOf(error)}`, { cause: error })
  }
  const make = "create one with: authwire keys create --name NAME --scopes all"
  const other = " (AUTHWIRE_API_KEY is set, but that is for an application; the service reads AUTHWIRE_API_KEYS)"
  const advice = configuration.hasApplicationKey ? make + other : make
  const open = [configuration.grpcAddr, configuration.httpAddr].find(
    (address) => address !== undefined && !isLoopback(address),
  )
  if (open !== undefined) {
    throw new StartError(`there is no API key, so every call would be rejected at ${open.host}: ${advice}`)
  }
  log.warn(`there is no API key, so every call is rejected: ${advice}; or use --dev`)
}

/** Logs which tenants of keys do not exist, because they cannot store anything. The database may be unreachable for now. */
async function warnOfTenants(keys: StaticKeys, { store, log }: { store: Store; log: Logger }): Promise<void> {
  const asked = new Set(keys.map(({ tenant }) => tenant))
  const others = [...asked].filter((tenant) => tenant !== "default")
  if (others.length === 0) return
  const known = await store.tenants.list({}).then(
    (tenants) => new Set(tenants.map(({ name }) => name)),
    () => new Set(others),
  )
  for (const tenant of others.filter((one) => !known.has(one)))
    log.warn({ tenant }, `a static API key is of a tenant that does not exist: authwire tenants create ${tenant}`)
}

/** Returns the keys of the configuration or of its file. */
function staticKeys({ apiKeys, apiKeysFile }: Configuration): StaticKeys {
  if (apiKeysFile !== undefined) return readGiven(flag, apiKeysFile, parseStaticKeys)
  return apiKeys === undefined ? [] : parseStaticKeys(apiKeys)
}
