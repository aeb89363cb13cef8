import type { Logger } from "pino"
import { followFile } from "../auth/followed-file.js"
import { Key } from "../auth/key.js"
import { openKeyring } from "../auth/keyring.js"
import { parseStaticKeys } from "../auth/static-keys.js"
import type { Configuration } from "../config/configuration.js"
import { StartError } from "../errors/start-error.js"
import type { Interceptor } from "../rpc/interceptor.js"
import { access } from "../rpc/interceptors/auth.js"
import type { Store } from "../store/store.js"
import { isLoopback } from "../util/address.js"
import { causeOf } from "./database.js"
import { readGiven } from "./given-file.js"

/** Opens the API keys of the database and of the configuration. Throws StartError if a file cannot be read. */
export async function openAccess(
  configuration: Configuration,
  { store, log }: { store: Store; log: Logger },
): Promise<{ interceptor: Interceptor; stop(): void }> {
  const keyring = await openKeyring({ apiKeys: store.apiKeys, log, clock: () => performance.now() })
  const give = (text: string) => keyring.setStaticKeys(parseStaticKeys(text).map((key) => new Key(key)))
  const text = givenText(configuration)
  if (text !== undefined) give(text)
  const { apiKeysFile: path } = configuration
  const file =
    path === undefined || text === undefined
      ? undefined
      : followFile({ path, text, what: "the file of API keys", log, onText: give })
  return {
    interceptor: access({ keyring, keyless: configuration.dev, now: Date.now }),
    stop() {
      file?.stop()
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
  const text = givenText(configuration)
  if (configuration.dev || (text !== undefined && parseStaticKeys(text).length > 0)) return
  const now = new Date()
  const keys = await store.apiKeys.listValid({}, now).catch((error: unknown) => {
    throw new StartError(`cannot read the API keys: ${causeOf(error)}`, { cause: error })
  })
  if (keys.some(({ expires }) => expires === undefined || expires > now)) return
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

/** Returns the list of keys from the configuration or from its file; undefined if there is none. */
function givenText({ apiKeys, apiKeysFile }: Configuration): string | undefined {
  if (apiKeysFile === undefined) return apiKeys
  return readGiven("--api-keys-file", apiKeysFile, parseStaticKeys)
}
