import { generateKeyPairSync, randomBytes } from "node:crypto"
import { createServer } from "node:http"
import { Auth, type AuthConfig } from "@auth/core"
import { AuthwireAdapter, throwOutages } from "@authwire/client"
import { withRequestContext } from "@authwire/client/request-context"
import { listen } from "@authwire/test-support/connections/free-port.js"
import type { TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import Provider from "oidc-provider"
import { providersFile } from "../provider-tokens/world.js"

export const client = { id: "app", secret: randomBytes(24).toString("hex") }
const hour = 3_600
const application = "http://127.0.0.1"
const callback = `${application}/auth/callback/idp`
/** Where the provider may send a browser after it has ended its session. */
export const home = `${application}/welcome?again=yes`

/** A browser: the cookies of the provider and of the application. */
export interface Browser {
  readonly provider: Map<string, string>
  readonly application: Map<string, string>
}

/** A real provider of OpenID Connect, a service that takes its signals, and a real application of Auth.js. */
export interface RealProvider {
  readonly issuer: string
  readonly authwire: ServerProcess
  /** Signs Ada in, through all the redirects of both. */
  signIn(): Promise<Browser>
  /** Returns the session that the application finds. */
  session(browser: Browser): Promise<{ user?: { email?: string } } | null>
  visitProvider(browser: Browser, url: string, form?: Record<string, string>): Promise<Response>
  /** Ends the session at the provider by its own page for that. Returns where it sends the browser afterwards. */
  signOutAtProvider(browser: Browser, url?: string): Promise<string | null>
  stop(): Promise<void>
}

/** @param more returns further configuration of the application. */
export async function startRealProvider(
  database: TestDatabase,
  more: (authwire: ServerProcess) => Partial<AuthConfig> = () => ({}),
): Promise<RealProvider> {
  const idp = createServer()
  const issuer = `http://127.0.0.1:${await listen(idp)}`
  const entry = { token_endpoint: `${issuer}/token`, issuer, client_id: client.id, auth_method: "none", signals: true }
  const file = providersFile({ default: { idp: entry } })
  const authwire = await startServer({ databaseUrl: database.url, args: [`--providers-file=${file}`] })
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: [callback],
        post_logout_redirect_uris: [home],
        backchannel_logout_uri: `${authwire.httpUrl}/v1/signals/default/idp`,
        backchannel_logout_session_required: true,
      },
    ],
    features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: false } },
    claims: { openid: ["sub"], email: ["email"] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    ttl: { AccessToken: hour, Grant: hour, IdToken: hour, Interaction: hour, Session: hour },
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId, email: "ada@example.com" }) }),
    interactions: { url: (_context, { uid }) => `/login/${uid}` },
    jwks: { keys: [generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" })] },
    cookies: { keys: [randomBytes(16).toString("hex")] },
  })
  const handle = provider.callback()
  idp.on("request", async (request, response) => {
    if (!request.url?.startsWith("/login/")) return handle(request, response)
    const grant = new provider.Grant({ accountId: "ada", clientId: client.id })
    grant.addOIDCScope("openid email")
    const consent = { grantId: await grant.save() }
    await provider.interactionFinished(request, response, { login: { accountId: "ada" }, consent })
  })
  const adapter = AuthwireAdapter({ url: authwire.grpcUrl, apiKey: authwire.apiKey })
  const config = throwOutages(
    {
      adapter,
      basePath: "/auth",
      trustHost: true,
      secret: "a secret of the application, 32 bytes",
      ...more(authwire),
      providers: [
        {
          ...{ id: "idp", name: "Idp", type: "oidc", issuer, clientId: client.id, clientSecret: client.secret },
          authorization: { params: { scope: "openid email" } },
        },
      ],
    } satisfies AuthConfig,
    { sessionTimeoutMs: 30_000 },
  )

  async function visitApplication({ application: cookies }: Browser, path: string, form?: Record<string, string>) {
    const posted = form && { method: "POST", body: new URLSearchParams(form) }
    const request = new Request(new URL(path, application), { headers: headerOf(cookies), ...posted })
    return keep(cookies, await withRequestContext(request, () => Auth(request, config)))
  }

  async function visitProvider({ provider: cookies }: Browser, url: string, form?: Record<string, string>) {
    const posted = form && { method: "POST", body: new URLSearchParams(form) }
    const request = { headers: headerOf(cookies), redirect: "manual", ...posted } as const
    return keep(cookies, await fetch(new URL(url, issuer), request))
  }

  const session = async (browser: Browser) =>
    (await visitApplication(browser, "/auth/session")).json() as Promise<{ user?: { email?: string } } | null>

  async function signIn(): Promise<Browser> {
    const browser: Browser = { provider: new Map(), application: new Map() }
    const { csrfToken } = (await (await visitApplication(browser, "/auth/csrf")).json()) as { csrfToken: string }
    const begun = await visitApplication(browser, "/auth/signin/idp", { csrfToken })
    let at = begun.headers.get("location") ?? ""
    while (at !== "" && !at.startsWith(callback)) at = (await visitProvider(browser, at)).headers.get("location") ?? ""
    await visitApplication(browser, at)
    return browser
  }

  async function signOutAtProvider(browser: Browser, url = `/session/end?client_id=${client.id}`) {
    const page = await (await visitProvider(browser, url)).text()
    const [, xsrf = ""] = /name="xsrf" value="([^"]+)"/.exec(page) ?? []
    const answer = await visitProvider(browser, "/session/end/confirm", { xsrf, logout: "yes" })
    return answer.headers.get("location")
  }

  return {
    issuer,
    authwire,
    signIn,
    session,
    visitProvider,
    signOutAtProvider,
    async stop() {
      idp.closeAllConnections()
      idp.close()
      await authwire.stop()
    },
  }
}

function keep(cookies: Map<string, string>, answer: Response): Response {
  for (const line of answer.headers.getSetCookie()) {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (value === "" || /; Max-Age=0(;|$)/i.test(line)) cookies.delete(name)
    else cookies.set(name, value)
  }
  return answer
}

const headerOf = (cookies: Map<string, string>) => ({
  cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
})
