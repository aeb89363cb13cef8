import { randomUUID } from "node:crypto"
import { closeSync, openSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { orStartError } from "../errors/start-error.js"
import { nodeSqlite } from "../store/sql/index.js"

/** The size of the memory for pages of the temporary database, in KiB. */
const memoryKib = 16 * 1024

/**
 * Opens a database in a file that is unlinked at once, so that nothing of it remains. Nothing is ever committed. Throws
 * StartError.
 */
export function openTemporary(folder = tmpdir()): DatabaseSync {
  return temporarily(() => {
    const path = join(folder, `authwire-import-${randomUUID()}`)
    // Only the owner may read the file, because digests of addresses can be guessed.
    closeSync(openSync(path, "wx", 0o600))
    try {
      const database = new (nodeSqlite().DatabaseSync)(path)
      const settings = [
        "journal_mode = MEMORY",
        "locking_mode = EXCLUSIVE",
        "temp_store = FILE",
        `cache_size = -${memoryKib}`,
      ]
      for (const setting of settings) database.exec(`PRAGMA ${setting}`)
      database.exec("BEGIN EXCLUSIVE")
      return database
    } finally {
      rmSync(path)
    }
  })
}

/** Converts the error of a temporary file that cannot be read or written into a StartError. */
export function temporarily<T>(work: () => T): T {
  return orStartError("cannot use a temporary file", work, ": set TMPDIR to another folder")
}
