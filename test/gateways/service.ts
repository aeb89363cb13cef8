import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { createDatabase, type DatabaseTarget, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { createKey } from "@authwire/test-support/processes/keys.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import type { Answer, Question } from "./ask.js"

/** The cookie of sessions. */
export const cookie = "authjs.session-token"

/** A service with the key of a gateway. */
export interface GatewayService {
  readonly database: TestDatabase
  readonly server: ServerProcess
  /** A client of the tenant with all scopes. */
  readonly client: AuthwireClient
  /** The key of the gateway. */
  readonly gateway: string
  close(): Promise<void>
}

/** A gateway that asks over one protocol, and what its tests need for their questions. */
export interface AskedGateway {
  /** Asks with another key, or with none (null). */
  ask(question: Question, key?: string | null): Promise<Answer>
  /** Creates a user with a session. */
  signIn(user?: Record<string, unknown>): ReturnType<typeof signedIn>
  /** Returns the header of a request with a JWT. */
  jwtOf(claims: Record<string, unknown>): Promise<{ cookie: string }>
  client(): AuthwireClient
}

export async function startGatewayService(target: DatabaseTarget): Promise<GatewayService> {
  const database = await createDatabase(target)
  const server = await startServer({ databaseUrl: database.url, keys: false })
  const gateway = (await createKey(database, "sessions:introspect")).text
  const client = createAuthwireClient({ url: server.grpcUrl, apiKey: (await createKey(database, "all")).text })
  // A replica learns of new keys a moment later.
  await client.users.countUsers({})
  return {
    ...{ database, server, client, gateway },
    async close() {
      client.close()
      await server.stop()
      await database.drop()
    },
  }
}

/** Creates a user with a session. Returns them, the header of their requests, and what the application is told. */
export async function signedIn(client: AuthwireClient, user: Record<string, unknown> = {}) {
  const email = `${crypto.randomUUID()}@example.com`
  const { id: userId } = await client.adapter.createUser({
    id: crypto.randomUUID(),
    email,
    emailVerified: null,
    ...user,
  } as never)
  const sessionToken = crypto.randomUUID()
  await client.adapter.createSession({ sessionToken, userId, expires: new Date(Date.now() + 3_600_000) })
  const { sessions } = await client.sessions.listSessions({ userId })
  const told = { "x-auth-user-id": userId, "x-auth-session-id": sessions[0]?.id }
  return { userId, email, sessionToken, headers: { cookie: `${cookie}=${sessionToken}` }, told }
}
