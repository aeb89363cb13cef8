import { encryptionKeys } from "../../bootstrap/database.js"
import { withDevSecret } from "../../bootstrap/dev-folder.js"
import type { Configuration } from "../../config/configuration.js"
import { rekey as rekeyDatabase } from "../../store/sql/index.js"
import type { CommandOutput } from "./output.js"
import { withDatabase } from "./with-database.js"

/**
 * `authwire rekey`: encrypts everything with the first key, while the service keeps running. With `--plain` also
 * values that are not encrypted. Throws StartError if the
 * database cannot be reached.
 *
 * @returns The exit code: 1 if some rows could not be decrypted, or are not encrypted.
 */
export async function rekey(given: Configuration<"rekey">, { print }: CommandOutput): Promise<number> {
  const configuration = withDevSecret(given)
  const { seen, resealed, plain, unreadable } = await withDatabase(
    configuration,
    (database, log) =>
      rekeyDatabase(database, {
        encryptionKeys: encryptionKeys(configuration),
        plain: configuration.plain,
        onProgress: (progress) => log.info(progress, "rekeying"),
      }),
    { what: "rekey", advice: "; rows that were rekeyed are kept, and the command can be run again" },
  )
  print(`rekeyed ${resealed} of ${seen} rows\n`)
  if (plain > 0) print(`${rows(plain)} not encrypted, so the service rejects them; see --plain\n`)
  if (unreadable > 0) print(`${rows(unreadable)} not decrypted by any configured key\n`)
  return plain + unreadable === 0 ? 0 : 1
}

/** Returns the subject and the verb of a sentence about rows that were not changed. */
function rows(count: number): string {
  return count === 1 ? "1 row was not changed, because it is" : `${count} rows were not changed, because they are`
}
