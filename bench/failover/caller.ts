import { randomUUID } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import { AuthwireError } from "@authwire/client"
import { AccountType } from "@authwire/proto"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { clientOver } from "../../client/dist/client.js"
import { pipelineTransport } from "../../client/dist/pipeline/transport.js"
import { headersOf } from "../../client/dist/transport/options.js"
import { apiKey } from "../servers/key.ts"
import type { Replica } from "./replica.ts"

/** A sign-in of which every call was answered. */
export interface SignIn {
  userId: string
  providerAccountId: string
  sessionToken: string
}

/** The observations of the callers. */
export interface Record {
  readonly signIns: SignIn[]
  /** The times at which writes were acknowledged, in milliseconds since 1970. */
  readonly writes: number[]
  /** The numbers of calls that failed despite the client's own retries and were repeated, by error. */
  readonly retried: Map<string, number>
  /** The calls that were given up. */
  readonly failed: string[]
  /** The reads that did not return data that was acknowledged before them. */
  readonly wrong: string[]
  longestCallMs: number
}

const patienceMs = 30_000
const pauseMs = 100

/** The client of an application for which one name resolves to all replicas. */
export type Client = ReturnType<typeof applicationClient>

export function applicationClient(replicas: readonly Replica[]) {
  const options = { url: `dns:///authwire.test:${replicas[0]?.port}`, apiKey }
  const header = headersOf(options)
  const transport = pipelineTransport({ ...options, header, resolve: async () => replicas.map(({ host }) => host) })
  return { ...clientOver({ transport, address: "the service" }, options), close: transport.close }
}

/** The options of a write. Its idempotency key stays the same for retries at any replica. */
interface OfWrite {
  readonly headers: { readonly "idempotency-key": string }
}

/**
 * Signs users in, as Auth.js does with a provider of OpenID Connect. A call that fails with UNAVAILABLE (after the
 * client's second try) or DEADLINE_EXCEEDED is retried for 30 seconds. It is then unknown whether a write was done. Its
 * retries therefore have the same idempotency key.
 */
export function caller({ adapter, users, accounts, sessions }: Client, record: Record) {
  async function repeat<T>(name: string, call: () => Promise<T>): Promise<T> {
    const begun = performance.now()
    for (;;) {
      try {
        return await call()
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

  async function write(name: string, call: (options: OfWrite) => Promise<unknown>): Promise<void> {
    const options = { headers: { "idempotency-key": randomUUID() } }
    await repeat(name, () => call(options))
    record.writes.push(Date.now())
  }

  return {
    async signIn(): Promise<void> {
      const [userId, providerAccountId, sessionToken] = [randomUUID(), randomUUID(), randomUUID()]
      const provider = "oidc"
      const before = await repeat("getUserByAccount", () => adapter.getUserByAccount({ provider, providerAccountId }))
      if (before !== null) record.wrong.push("an account that nobody had linked")
      const user = { id: userId, email: `${userId}@example.com` }
      await write("createUser", (options) => users.createUser(user, options))
      const account = { userId, type: AccountType.OIDC, provider, providerAccountId, accessToken: randomUUID() }
      await write("linkAccount", (options) => accounts.linkAccount(account, options))
      const expires = timestampFromDate(new Date(Date.now() + 86_400_000))
      await write("createSession", (options) => sessions.createSession({ sessionToken, userId, expires }, options))
      const found = await repeat("getSessionAndUser", () => adapter.getSessionAndUser(sessionToken))
      if (found?.user.id !== userId) record.wrong.push("a session that was created is not there")
      record.signIns.push({ userId, providerAccountId, sessionToken })
    },
  }
}

/** Returns the status, the reason if there is one, and the message. */
function codeOf(error: unknown): string {
  return error instanceof AuthwireError ? `${error.code} ${error.reason ?? ""} ${error.message}` : String(error)
}
