import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { AccountType } from "@authwire/proto"
import type { TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { client, type OidcProvider } from "./oidc.js"

/** Writes a file for `--providers-file`, and returns its path. */
export function providersFile(content: unknown): string {
  const path = join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, `providers-${crypto.randomUUID()}.json`)
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content))
  return path
}

/** Returns the entry of a provider for tests. */
export function entryOf({ issuer, tokenEndpoint }: Pick<OidcProvider, "issuer" | "tokenEndpoint">, more: object = {}) {
  return {
    token_endpoint: tokenEndpoint,
    issuer,
    client_id: client.id,
    client_secret_env: "TEST_CLIENT_SECRET",
    timeout_seconds: 10,
    ...more,
  }
}

/** A replica, and a client connected to it. */
export interface Replica {
  readonly server: ServerProcess
  readonly client: AuthwireClient
  stop(signal?: NodeJS.Signals): Promise<void>
}

export async function startReplica(
  database: TestDatabase,
  file: string,
  options: { args?: string[]; env?: Record<string, string> } = {},
): Promise<Replica> {
  const server = await startServer({
    databaseUrl: database.url,
    args: [`--providers-file=${file}`, ...(options.args ?? [])],
    env: { TEST_CLIENT_SECRET: client.secret, ...options.env },
  })
  const own = createAuthwireClient({ url: server.grpcUrl, timeoutMs: 30_000 })
  return {
    server,
    client: own,
    async stop(signal) {
      own.close()
      await server.stop(signal)
    },
  }
}

/** Creates a user whose account at a provider has these tokens. */
export async function signedUp(
  { users, accounts }: AuthwireClient,
  account: { provider?: string; refreshToken?: string; accessToken?: string; expiresAt?: number; idToken?: string },
): Promise<{ userId: string; provider: string; providerAccountId: string }> {
  const userId = crypto.randomUUID()
  const key = { provider: "oidc", userId, providerAccountId: `of ${userId}` }
  await users.createUser({ id: userId })
  await accounts.linkAccount({
    ...key,
    type: AccountType.OIDC,
    accessToken: "expired",
    tokenType: "bearer",
    expiresAt: 1_000,
    ...account,
  })
  return { ...key, ...(account.provider !== undefined && { provider: account.provider }) }
}
