import { encryptionKeys } from "../../bootstrap/database.js"
import { withDevSecret } from "../../bootstrap/dev-folder.js"
import { StartError } from "../../errors/start-error.js"
import { addKey } from "../../identity/rotation.js"
import { createCipher, databaseClock, signingKeyStore } from "../../store/sql/index.js"
import type { Work } from "./output.js"
import { withDatabase } from "./with-database.js"

/** `authwire keys rotate-signing`. Throws StartError if the next key is already published. */
export const rotateSigning: Work<"keys rotate-signing"> = async (given, { print }) => {
  const configuration = withDevSecret(given)
  const { now: atOnce } = configuration
  await withDatabase(configuration, async (database) => {
    const store = signingKeyStore(database, createCipher(encryptionKeys(configuration)))
    const now = await databaseClock(database)(database.reads({}))
    const keys = await store.list({})
    const next = keys.find(({ usedFrom }) => usedFrom > now)
    if (next !== undefined && !atOnce) {
      throw new StartError(`the next key is published already, and signs from ${next.usedFrom.toISOString()} on`)
    }
    if (!(await addKey(store, {}, { keys, now: now.getTime(), atOnce }))) {
      throw new StartError("another process has made a key at this moment: run the command again if it is still needed")
    }
    const before = keys.map(({ number }) => number)
    if (atOnce) await store.remove({}, before)
  })
  print(
    atOnce
      ? "the keys before are deleted, and a new one signs: within a minute on every server\n"
      : "a new key is published: it signs in 20 minutes, and the one before is deleted 20 minutes later\n",
  )
}
