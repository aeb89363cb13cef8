import type { TestDatabase } from "../databases/databases.js"
import { run } from "./server.js"

/** An API key of a database, created with the command. */
export interface TestKey {
  readonly id: string
  /** Its display name. */
  readonly name: string
  /** The key as callers send it. */
  readonly text: string
}

type Database = Pick<TestDatabase, "url">

/** Runs a command on a database. Throws with its standard error if it fails. */
export async function command(database: Database, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(args, { AUTHWIRE_DATABASE_URL: database.url })
  if (code !== 0) throw new Error(`authwire ${args.join(" ")}: ${code}\n${stderr}`)
  return stdout
}

/** Creates a key. `more` are further options of the command. */
export async function createKey(database: Database, scopes: string, ...more: string[]): Promise<TestKey> {
  const name = "of the tests"
  const text = (await command(database, "keys", "create", `--name=${name}`, `--scopes=${scopes}`, ...more)).trim()
  return { id: text.split("_")[1] as string, name, text }
}

/** Revokes a key. */
export async function revokeKey(database: Database, { id }: TestKey): Promise<void> {
  await command(database, "keys", "revoke", id)
}
