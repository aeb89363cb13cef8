import type { Awaitable } from "@auth/core/types"
import { withRequestContext } from "./request-context.js"
import { outageThrower, type SessionConfig, type SessionOptions } from "./sessions/throw-outages.js"
import { SessionUnavailable } from "./sessions/unavailable.js"
import { unavailableResponse } from "./sessions/unavailable-response.js"
import { currentContext } from "./sign-in-context.js"
import { forwardSignal, type SignalClient, signalBody } from "./signals/forward.js"

export { AuthwireError } from "./errors/error.js"
export type { SessionOptions } from "./sessions/throw-outages.js"
export { SessionUnavailable } from "./sessions/unavailable.js"
export { type UnansweredRequest, unavailableResponse } from "./sessions/unavailable-response.js"
export {
  type FederatedSignOutOptions,
  federatedSignOut,
  type JwtSignIn,
  type SignOutClient,
} from "./signals/federated-sign-out.js"
export type { SignalClient } from "./signals/forward.js"

/** Options of withAuthwire. */
export interface NextjsOptions extends SessionOptions {
  /**
   * Creates the response of `proxy.ts` and of route handlers when the session cannot be read. Default:
   * `unavailableResponse`, which sends the status 503 with `Retry-After`: a page to browsers, and JSON to others.
   */
  unavailable?: ((request: Request, error: SessionUnavailable) => Response | Promise<Response>) | undefined
}

type LazyConfig = (...args: never[]) => Awaitable<SessionConfig>

/** The parts of NextAuth's result that are changed here. */
interface NextAuthParts {
  auth: (...args: never[]) => unknown
  handlers: { GET: (request: never) => Promise<Response>; POST: (request: never) => Promise<Response> }
}

/** The type of the session in `request.auth` of a handler. */
type SessionOf<Auth> = Auth extends (handler: (request: infer R, ...rest: never[]) => unknown) => unknown
  ? R extends { auth: infer Session }
    ? Session
    : never
  : never

/** The method that withAuthwire adds to NextAuth's result. */
export interface GetSession<Session> {
  /**
   * Returns the session, or null if no user is signed in. Throws SessionUnavailable if the session cannot be read.
   *
   * @param request - The request whose cookies are read. Default: the request that Next.js is handling, as with
   * `auth()`.
   */
  getSession(request?: Request): Promise<Session>
}

type Call = (...args: unknown[]) => unknown

/**
 * Calls NextAuth and makes outages of the service visible. By default Auth.js treats an outage as a sign-out: `auth()`
 * reports that no user is signed in, and the cookies of JWT sessions are removed. With this function
 *
 * - `auth()` and `getSession()` throw SessionUnavailable in server components, actions and the Pages Router;
 * - `auth` around `proxy.ts` or a route handler, and the handlers of Auth.js, respond with 503 and `Retry-After`;
 * - no cookie is removed, and a service that does not respond delays a page by `sessionTimeoutMs`;
 * - a user who is disabled and signs in gets the error AccessDenied, also with JWT sessions;
 * - the provider's tokens are stored at every sign-in, as `storeTokens` of `@authwire/client` does, and the provider and its
 *   session with the new session.
 *
 * @param nextAuth - The default export of `next-auth`.
 * @param config - The configuration of NextAuth.
 * @throws AuthwireError with INVALID_ARGUMENT if an option is invalid.
 * @example
 * ```ts
 * import { AuthwireAdapter } from "@authwire/client"
 * import { withAuthwire } from "@authwire/client/nextjs"
 * import NextAuth from "next-auth"
 *
 * export const { handlers, auth, signIn, signOut, getSession } = withAuthwire(NextAuth, {
 *   adapter: AuthwireAdapter({ url: process.env.AUTHWIRE_URL ?? "", apiKey: process.env.AUTHWIRE_API_KEY }),
 *   providers: [],
 * })
 * ```
 */
export function withAuthwire<Config extends SessionConfig | LazyConfig, Result extends NextAuthParts>(
  nextAuth: (config: Config) => Result,
  config: NoInfer<Config>,
  options: NextjsOptions = {},
): Result & GetSession<SessionOf<Result["auth"]>> {
  const { unavailable = (request, error) => unavailableResponse(error, request) } = options
  const result = nextAuth(withOutages(config, options) as Config)
  const auth = result.auth as Call

  async function answer(request: Request, call: () => unknown): Promise<unknown> {
    try {
      return await call()
    } catch (error) {
      if (error instanceof SessionUnavailable) return unavailable(request, error)
      throw error
    }
  }

  const handler = (method: "GET" | "POST") => {
    const handle = result.handlers[method] as (request: Request) => Promise<Response>
    const run = (request: Request) => answer(request, () => handle(request))
    return (request: Request) =>
      currentContext() === undefined ? withRequestContext(request, () => run(request)) : run(request)
  }

  return {
    ...result,
    handlers: { ...result.handlers, GET: handler("GET"), POST: handler("POST") },
    auth(...args: unknown[]) {
      const [first] = args
      if (first instanceof Request) return answer(first, () => auth(...args))
      if (typeof first !== "function") return auth(...args)
      const wrapped = auth(first)
      return (request: Request, ...rest: unknown[]) =>
        answer(request, async () => ((await wrapped) as Call)(request, ...rest))
    },
    async getSession(request?: Request) {
      if (request === undefined) return auth()
      // NextAuth accepts these arguments from the Pages Router: the headers of the request, and headers that receive
      // its cookies.
      return auth({ headers: sessionHeaders(request) }, { headers: new Headers() })
    },
  } as Result & GetSession<SessionOf<Result["auth"]>>
}

function withOutages(config: SessionConfig | LazyConfig, options: SessionOptions) {
  const throwingOutages = outageThrower(options)
  if (typeof config !== "function") return throwingOutages(config)
  return async (...args: never[]) => throwingOutages(await config(...args))
}

/** Returns the headers of a request with those that Next.js adds, from which Auth.js derives the cookie's name. */
function sessionHeaders(request: Request): Headers {
  const headers = new Headers(request.headers)
  const { host, protocol } = new URL(request.url)
  if (!headers.has("host")) headers.set("host", host)
  if (!headers.has("x-forwarded-proto")) headers.set("x-forwarded-proto", protocol.slice(0, -1))
  return headers
}

/**
 * Creates the route handler of `app/…/[provider]/route.ts` that passes the signals of providers on to the service: logout tokens,
 * security events and Apple's notifications. It is for services that providers cannot reach; each of its answers is the one that the
 * standard demands.
 *
 * @param client - A client whose key has the scope `signals:write`.
 * @example
 * ```ts
 * import { signals } from "@authwire/client/nextjs"
 *
 * export const { POST } = signals(createAuthwireClient({ url, apiKey }))
 * ```
 */
export function signals(client: SignalClient) {
  return {
    async POST(request: Request, { params }: { params: Promise<{ provider: string }> }): Promise<Response> {
      const { provider } = await params
      const contentType = request.headers.get("content-type")
      const body = await signalBody(request.body ?? new Blob([]).stream())
      return forwardSignal(client, { provider, contentType, body })
    },
  }
}
