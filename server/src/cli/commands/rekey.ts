import { causeOf, encryptionKeys, openMigratedDatabase } from "../../bootstrap/database.js"
import { withDevSecret } from "../../bootstrap/dev-secret.js"
import type { Configuration } from "../../config/configuration.js"
import { StartError } from "../../errors/start-error.js"
import { createLog } from "../../logging/logger.js"
import { rekey as rekeyDatabase } from "../../store/sql/index.js"
import type { CommandOutput } from "./output.js"

/**
 * `authwire rekey`: encrypts everything with the first key, while the service keeps running. Throws StartError if the
 * database cannot be reached.
 *
 * @returns The exit code: 1 if some accounts could not be decrypted.
 */
export async function rekey(configuration: Configuration<"rekey">, { print }: CommandOutput): Promise<number> {
  const complete = withDevSecret(configuration)
  const log = createLog({ level: configuration.logLevel, format: configuration.logFormat })
  const database = await openMigratedDatabase(complete, log)
  try {
    const { seen, resealed, unreadable } = await rekeyDatabase(database, {
      encryptionKeys: encryptionKeys(complete),
      onProgress: (progress) => log.info(progress, "rekeying"),
    })
    print(`rekeyed ${resealed} of ${seen} accounts\n`)
    if (unreadable > 0) {
      const [accounts, were] = unreadable === 1 ? ["account", "was"] : ["accounts", "were"]
      print(`${unreadable} ${accounts} cannot be decrypted with the configured keys and ${were} not changed\n`)
    }
    return unreadable > 0 ? 1 : 0
  } catch (error) {
    throw new StartError(
      `rekey: ${causeOf(error)}; accounts that were rekeyed are kept, and the command can be run again`,
      { cause: error },
    )
  } finally {
    await database.close()
  }
}
