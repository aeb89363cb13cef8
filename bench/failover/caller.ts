import { randomUUID } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import { AuthwireError, createAuthwireClient } from "@authwire/client"
import { AccountType } from "@authwire/proto"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError } from "@connectrpc/connect"
import { apiKey } from "../servers/key.ts"

/** A sign-in of which every call was answered. */
export interface SignIn {
  userId: string
  providerAccountId: string
  sessionToken: string
}

/** What the callers saw. */
export interface Record {
  readonly signIns: SignIn[]
  /** When a write was acknowledged, in milliseconds since the epoch. */
  readonly writes: number[]
  /** Calls that failed and were made again, by what they failed with. */
  readonly retried: Map<string, number>
  /** Calls that were given up. */
  readonly failed: string[]
  /** Reads that did not give what was acknowledged before them. */
  readonly wrong: string[]
  longestCallMs: number
}

const patienceMs = 30_000
const pauseMs = 100

type Client = ReturnType<typeof createAuthwireClient>

/** What names a write and its repetitions, at whichever replica. */
interface OfWrite {
  readonly headers: { readonly "idempotency-key": string }
}

/**
 * Signs people in, as Auth.js does with a provider of OpenID Connect. A call that the service answers with UNAVAILABLE or
 * not in time is made again at the next replica for 30 seconds. Whether a write was done is unknown then: so it has the same
 * idempotency key each time.
 */
export function caller(urls: readonly string[], record: Record) {
  const clients = urls.map((url) => createAuthwireClient({ url, apiKey, timeoutMs: 8_000 }))
  let turn = 0

  async function repeat<T>(name: string, call: (client: Client) => Promise<T>): Promise<T> {
    const begun = performance.now()
    for (;;) {
      try {
        return await call(clients[turn++ % clients.length] as Client)
      } catch (error) {
        const code = codeOf(error)
        if (!code.startsWith("UNAVAILABLE") && !code.startsWith("DEADLINE_EXCEEDED")) {
          record.failed.push(`${name}: ${code}`)
          throw error
        }
        if (performance.now() - begun > patienceMs) {
          record.failed.push(`${name}: given up after ${code}`)
          throw error
        }
        record.retried.set(`${name}: ${code}`, (record.retried.get(`${name}: ${code}`) ?? 0) + 1)
        await delay(pauseMs)
      } finally {
        record.longestCallMs = Math.max(record.longestCallMs, performance.now() - begun)
      }
    }
  }

  async function write(name: string, call: (client: Client, options: OfWrite) => Promise<unknown>): Promise<void> {
    const options = { headers: { "idempotency-key": randomUUID() } }
    await repeat(name, (client) => call(client, options))
    record.writes.push(Date.now())
  }

  return {
    async signIn(): Promise<void> {
      const [userId, providerAccountId, sessionToken] = [randomUUID(), randomUUID(), randomUUID()]
      const provider = "oidc"
      const before = await repeat("getUserByAccount", ({ adapter }) =>
        adapter.getUserByAccount({ provider, providerAccountId }),
      )
      if (before !== null) record.wrong.push("an account that nobody had linked")
      await write("createUser", ({ users }, options) =>
        users.createUser({ id: userId, email: `${userId}@example.com` }, options),
      )
      const account = { userId, type: AccountType.OIDC, provider, providerAccountId, accessToken: randomUUID() }
      await write("linkAccount", ({ accounts }, options) => accounts.linkAccount(account, options))
      const expires = timestampFromDate(new Date(Date.now() + 86_400_000))
      await write("createSession", ({ sessions }, options) =>
        sessions.createSession({ sessionToken, userId, expires }, options),
      )
      const found = await repeat("getSessionAndUser", ({ adapter }) => adapter.getSessionAndUser(sessionToken))
      if (found?.user.id !== userId) record.wrong.push("a session that was created is not there")
      record.signIns.push({ userId, providerAccountId, sessionToken })
    },
    close() {
      for (const client of clients) client.close()
    },
  }
}

/** The name of the status, and the reason where there is one. */
function codeOf(error: unknown): string {
  if (error instanceof AuthwireError) return `${error.code} ${error.reason ?? ""}`
  if (!(error instanceof ConnectError)) return String(error)
  return Code[error.code].replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase()
}
