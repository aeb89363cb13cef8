import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { type Account, AccountType } from "@authwire/proto"
import type { TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { providersFile } from "../provider-tokens/world.js"
import { clientId, type Issuer } from "./issuer.js"

/** A service that takes signals of an issuer, under the names of three providers with the three policies. */
export interface SignalWorld {
  readonly server: ServerProcess
  readonly client: AuthwireClient
  /** Sends a body to the address of a provider. */
  post(type: string, body: string, provider?: string): Promise<Response>
  logout(token: string, provider?: string): Promise<Response>
  push(token: string, provider?: string): Promise<Response>
  notify(token: string, provider?: string): Promise<Response>
  stop(): Promise<void>
}

export async function startSignalWorld(
  database: TestDatabase,
  { issuer }: Pick<Issuer, "issuer">,
  args: string[] = [],
): Promise<SignalWorld> {
  const entry = { token_endpoint: `${issuer}/token`, issuer, client_id: clientId, auth_method: "none", signals: true }
  const file = providersFile({
    default: {
      idp: entry,
      disabling: { ...entry, account_ended: "disable" },
      unlinking: { ...entry, account_ended: "unlink" },
      silent: { ...entry, signals: false },
    },
  })
  const server = await startServer({ databaseUrl: database.url, args: [`--providers-file=${file}`, ...args] })
  const client = createAuthwireClient({ url: server.grpcUrl })
  const post: SignalWorld["post"] = (type, body, provider = "idp") =>
    fetch(`${server.httpUrl}/v1/signals/default/${provider}`, {
      method: "POST",
      headers: { "content-type": type },
      body,
    })
  return {
    server,
    client,
    post,
    logout: (token, provider) =>
      post("application/x-www-form-urlencoded", new URLSearchParams({ logout_token: token }).toString(), provider),
    push: (token, provider) => post("application/secevent+jwt", token, provider),
    notify: (token, provider) => post("application/json", JSON.stringify({ payload: token }), provider),
    async stop() {
      client.close()
      await server.stop()
    },
  }
}

const expires = timestampFromDate(new Date("2099-01-01T00:00:00Z"))

const tokens = ["accessToken", "refreshToken", "idToken"] as const

/** A user with an account, and sessions that began at its provider, each with the session there. */
export interface SignedIn {
  readonly userId: string
  readonly sub: string
  /** The providers' sessions of those that last. `other`: the one that began elsewhere. */
  sids(): Promise<string[]>
  /** Reads the tokens of the account; undefined for each that it does not have. */
  account(): Promise<Pick<Account, (typeof tokens)[number]>>
  /** Links the account again, with tokens. */
  link(provider: string): Promise<void>
  /** Begins another session. */
  begin(sid: string): Promise<void>
}

export async function signIn(
  { users, accounts, sessions }: AuthwireClient,
  {
    provider = "idp",
    scope = "openid",
    sids = ["one", "two"],
  }: { provider?: string; scope?: string; sids?: string[] } = {},
): Promise<SignedIn> {
  const userId = crypto.randomUUID()
  const sub = `sub of ${userId}`
  await users.createUser({ id: userId })
  const link = async (provider: string) => {
    await accounts.linkAccount({
      ...{ userId, provider, providerAccountId: sub, type: AccountType.OIDC, scope },
      ...{ accessToken: "a", refreshToken: "r", idToken: "i", expiresAt: 4_000_000_000 },
    })
  }
  await link(provider)
  const create = (origin: object) =>
    sessions.createSession({ sessionToken: crypto.randomUUID(), userId, expires, ...origin })
  const begin = async (sid: string) => {
    await create({ provider, providerSessionId: `${sid} ${userId}` })
  }
  for (const sid of sids) await begin(sid)
  await create({ provider: "elsewhere", providerSessionId: `other ${userId}` })
  return {
    userId,
    sub,
    link,
    begin,
    async account() {
      const { account } = await accounts.getAccount({ provider, providerAccountId: sub })
      return Object.fromEntries(tokens.map((name) => [name, account?.[name]]))
    },
    async sids() {
      const { sessions: all } = await sessions.listSessions({ userId })
      return all.map(({ providerSessionId }) => providerSessionId?.split(" ")[0] ?? "").toSorted()
    },
  }
}
