import { mkdtempSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"

/** A line of the audit log. */
export type Line = Record<string, unknown>

/** Makes a folder for files of a test. */
export const auditFolder = () => mkdtempSync(join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, "audit-"))

export const linesOf = (text: string): Line[] =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line))

/** A service that writes its audit log to a file. */
export interface AuditedService {
  readonly database: TestDatabase
  readonly server: ServerProcess
  /** A client with the key `all`. */
  readonly client: AuthwireClient
  readonly all: ReturnType<typeof staticKey>
  /** A key with the scope `users:read` only. */
  readonly mayRead: ReturnType<typeof staticKey>
  readonly file: string
  lines(): Line[]
  close(): Promise<void>
}

export async function startAudited(...args: string[]): Promise<AuditedService> {
  const all = staticKey([
    ...["all", "users:private", "keys:write", "session-policy:write", "tenants:read", "tenants:write"],
    ...["webhooks:read", "webhooks:write"],
  ])
  const mayRead = staticKey(["users:read"])
  const database = await createDatabase("sqlite")
  const file = join(auditFolder(), "log")
  const server = await startServer({
    databaseUrl: database.url,
    keys: false,
    args: [`--audit-log=${file}`, "--log-level=silent", ...args],
    env: { AUTHWIRE_API_KEYS: JSON.stringify([all.entry, mayRead.entry]) },
  })
  const client = createAuthwireClient({ url: server.grpcUrl, apiKey: all.text })
  return {
    ...{ database, server, client, all, mayRead, file },
    lines: () => linesOf(readFileSync(file, "utf8")),
    async close() {
      client.close()
      await server.stop()
      await database.drop()
    },
  }
}
