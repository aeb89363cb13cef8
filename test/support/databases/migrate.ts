import { applyMigrations, openDatabase } from "../../../server/src/store/sql/index.js"
import type { TestDatabase } from "./databases.js"

/**
 * Does what `authwire migrate up` does, in this process. The command costs half a second of the processor, which matters
 * to files that create a database for each test.
 */
export async function migrate({ url }: Pick<TestDatabase, "url">): Promise<void> {
  const opened = await openDatabase({ url })
  try {
    await applyMigrations(opened)
  } finally {
    await opened.close()
  }
}
