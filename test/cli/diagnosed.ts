import type { TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type Database, openDatabase } from "../../server/src/store/sql/index.js"

/** Makes a check of authwire doctor in this process, which takes a small part of the time of the command. */
export async function diagnosed<T>({ url }: TestDatabase, diagnose: (database: Database) => Promise<T>): Promise<T> {
  const opened = await openDatabase({ url, readOnly: true })
  try {
    return await diagnose(opened)
  } finally {
    await opened.close()
  }
}
