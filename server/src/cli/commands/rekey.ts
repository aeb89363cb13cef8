import { encryptionKeys } from "../../bootstrap/database.js"
import { withDevSecret } from "../../bootstrap/dev-folder.js"
import { rekey as rekeyDatabase, withShards } from "../../store/sql/index.js"
import type { Work } from "./output.js"
import { withDatabase } from "./with-database.js"

/**
 * `authwire rekey`: encrypts everything with the first key, while the service keeps running. Throws StartError if the
 * database cannot be reached.
 *
 * @returns The exit code: 1 if some rows could not be decrypted.
 */
export const rekey: Work<"rekey"> = async (given, { print }) => {
  const configuration = withDevSecret(given)
  const { seen, resealed, unreadable } = await withDatabase(
    configuration,
    async (database, log) => {
      const total = { seen: 0, resealed: 0, unreadable: 0 }
      for (const one of withShards(database)) {
        const found = await rekeyDatabase(one, {
          encryptionKeys: encryptionKeys(configuration),
          onProgress: (progress) => log.info(progress, "rekeying"),
        })
        for (const name of ["seen", "resealed", "unreadable"] as const) total[name] += found[name]
      }
      return total
    },
    { what: "rekey", advice: "; rows that were rekeyed are kept, and the command can be run again" },
  )
  print(`rekeyed ${resealed} of ${seen} rows\n`)
  if (unreadable === 0) return 0
  const rows =
    unreadable === 1 ? "1 row was not changed, because it is" : `${unreadable} rows were not changed, because they are`
  print(`${rows} not decrypted by any configured key\n`)
  return 1
}
