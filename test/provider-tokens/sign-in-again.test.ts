import { Auth, type AuthConfig, customFetch } from "@auth/core"
import type { Provider } from "@auth/core/providers"
import Strava from "@auth/core/providers/strava"
import { AuthwireAdapter, storeTokens, throwOutages } from "@authwire/client"
import { AuthwireAdapter as EdgeAdapter, storeTokens as edgeStoreTokens } from "@authwire/client/edge"
import { withAuthwire } from "@authwire/client/nextjs"
import { createDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { failureOf } from "../transports/world.js"
import { type RotatingGrants, startRotatingGrants } from "./rotating-grants.js"
import { entryOf, providersFile, type Replica, startReplica } from "./world.js"

// Real sign-ins through @auth/core with its own provider for Strava, whose ids are numbers, against a provider that
// refuses the first refresh token.
let database: TestDatabase
let provider: RotatingGrants
let replica: Replica
let nodeAdapter: ReturnType<typeof AuthwireAdapter>

beforeAll(async () => {
  database = await createDatabase("sqlite")
  provider = await startRotatingGrants()
  const strava = entryOf(provider, { auth_method: "client_secret_post", issuer: undefined })
  replica = await startReplica(database, providersFile({ default: { strava } }))
  nodeAdapter = AuthwireAdapter({ url: replica.server.grpcUrl })
})
afterAll(async () => {
  await replica.stop()
  await provider.close()
  await database.drop()
})

const strava = (more: object = {}) =>
  ({
    ...Strava({
      clientId: "app",
      clientSecret: "a secret",
      authorization: `${provider.issuer}/authorize`,
      userinfo: `${provider.issuer}/userinfo`,
      ...more,
    }),
    token: { url: provider.tokenEndpoint },
    [customFetch]: fetch,
  }) as unknown as Provider

const base: Omit<AuthConfig, "providers"> = {
  basePath: "/auth",
  secret: "a secret of the application",
  trustHost: true,
  logger: { error() {}, warn() {} },
}

/** A browser with one set of cookies. */
function browser(handle: (request: Request) => Promise<Response>) {
  const cookies = new Map<string, string>()
  return async (path: string, body?: Record<string, string>): Promise<Response> => {
    const headers = { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") }
    const init = body === undefined ? { headers } : { headers, method: "POST", body: new URLSearchParams(body) }
    const response = await handle(new Request(`http://localhost${path}`, init))
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      cookies.set(name, value)
    }
    return response
  }
}

/** Signs in with a new browser. The code that the provider issues is the name of the grant. */
async function signIn(handle: (request: Request) => Promise<Response>, grant: string): Promise<Response> {
  const open = browser(handle)
  const { csrfToken } = (await (await open("/auth/csrf")).json()) as { csrfToken: string }
  const begun = await open("/auth/signin/strava", { csrfToken })
  const state = new URL(begun.headers.get("location") as string).searchParams.get("state") ?? ""
  return open(`/auth/callback/strava?${new URLSearchParams({ code: grant, ...(state && { state }) })}`)
}

type Config = { adapter: NonNullable<AuthConfig["adapter"]>; events: NonNullable<AuthConfig["events"]> }
const applications: [string, (config: Config) => (request: Request) => Promise<Response>][] = [
  ["throwOutages", (config) => handlerOf(throwOutages<AuthConfig>({ ...base, ...config, providers: [strava()] }))],
  ["storeTokens", (config) => handlerOf(storeTokens<AuthConfig>({ ...base, ...config, providers: [strava()] }))],
  [
    "storeTokens of the edge client",
    (config) => {
      const adapter = EdgeAdapter({ url: replica.server.httpUrl })
      return handlerOf(edgeStoreTokens<AuthConfig>({ ...base, ...config, adapter, providers: [strava()] }))
    },
  ],
  [
    "withAuthwire",
    (config) => {
      // NextAuth passes its configuration to @auth/core in the same way.
      const nextAuth = (given: AuthConfig) => {
        const GET = handlerOf(given)
        return { auth: () => undefined, handlers: { GET, POST: GET } }
      }
      const { handlers } = withAuthwire(nextAuth, { ...base, ...config, providers: [strava()] })
      return handlers.GET
    },
  ],
]

function handlerOf(config: AuthConfig): (request: Request) => Promise<Response> {
  return async (request) => (await Auth(request, config)) as Response
}

let nextId = 12_345_678_901
/** Makes the next sign-in that of another user. */
const newPerson = () => {
  const id = nextId++
  provider.profile = { id, firstname: "Ada", lastname: String(id), profile: null }
  return { provider: "strava", providerAccountId: String(id) }
}

describe.each(applications)("%s", (_, application) => {
  test("a new sign-in replaces a refresh token that the provider refuses; the id of the user is a number", async () => {
    const key = newPerson()
    const seen: unknown[] = []
    const handle = application({
      adapter: nodeAdapter,
      events: {
        signIn: async () =>
          void seen.push((await nodeAdapter.getAccount(key.providerAccountId, "strava"))?.refresh_token),
      },
    })
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()]
    expect((await signIn(handle, first)).headers.getSetCookie().join()).toContain("authjs.session-token=")
    const { accounts } = replica.client
    const { account } = await accounts.getAccount(key)
    expect(account).toMatchObject({ ...key, refreshToken: `${first}~1`, accessToken: `access ${first}` })
    const userId = account?.userId as string
    const get = () => accounts.getAccessToken({ userId, provider: "strava", minValidity: { seconds: 3_600n } })
    const expire = () =>
      database.query("UPDATE accounts SET expires_at = 1000, expires_in = NULL WHERE user_id = ?", [userId])
    provider.end(first)
    await expire()
    expect((await failureOf(get())).infos[0]?.reason).toBe("REFRESH_REFUSED")

    await signIn(handle, second)
    expect(await accounts.getAccount(key)).toMatchObject({
      account: { userId, refreshToken: `${second}~1`, accessToken: `access ${second}` },
    })
    // The application's own handler runs when the tokens are stored.
    expect(seen).toEqual([`${first}~1`, `${second}~1`])
    await expire()
    expect((await get()).accessToken).toBe(`access ${second}~1`)
    expect(await database.query("SELECT id FROM users WHERE id = ?", [userId])).toHaveLength(1)
  })
})

test("what the provider's account callback leaves out is not stored; its refresh token stays", async () => {
  const key = newPerson()
  const account = ({ access_token, expires_at }: Record<string, unknown>) => ({ access_token, expires_at, kept: "yes" })
  const first = handlerOf(storeTokens<AuthConfig>({ ...base, adapter: nodeAdapter, providers: [strava()] }))
  const second = handlerOf(storeTokens<AuthConfig>({ ...base, adapter: nodeAdapter, providers: [strava({ account })] }))
  const [one, two] = [crypto.randomUUID(), crypto.randomUUID()]
  await signIn(first, one)
  await signIn(second, two)
  const { accessToken, refreshToken, tokenType, extra } = (await replica.client.accounts.getAccount(key)).account ?? {}
  expect([accessToken, refreshToken, tokenType, extra]).toMatchObject([
    `access ${two}`,
    `${one}~1`,
    undefined,
    { kept: "yes" },
  ])
})

test("if the tokens cannot be stored, Auth.js logs it, the sign-in succeeds, and the application's handler runs", async () => {
  newPerson()
  await signIn(handlerOf({ ...base, adapter: nodeAdapter, providers: [strava()] }), crypto.randomUUID())
  const logged: string[] = []
  let handled = 0
  const failing = throwOutages<AuthConfig>({
    ...base,
    adapter: { ...nodeAdapter, linkAccount: () => Promise.reject(new Error("down")) as Promise<void> },
    events: { signIn: async () => void handled++ },
    logger: { error: ({ name }) => void logged.push(name) },
    providers: [strava()],
  })
  const response = await signIn(handlerOf(failing), crypto.randomUUID())
  expect(response.headers.getSetCookie().join()).toContain("authjs.session-token=")
  expect([logged, handled]).toEqual([["EventError"], 1])
})
