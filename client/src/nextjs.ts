import type { Awaitable } from "@auth/core/types"
import { outageThrower, type SessionConfig, type SessionOptions } from "./sessions/throw-outages.js"
import { SessionUnavailable } from "./sessions/unavailable.js"

export { AuthwireError } from "./error.js"
export type { SessionOptions } from "./sessions/throw-outages.js"
export { SessionUnavailable } from "./sessions/unavailable.js"

/** What withAuthwire can be told beside the configuration of NextAuth. */
export interface NextjsOptions extends SessionOptions {
  /**
   * Makes the response of `proxy.ts` and of route handlers when it cannot be told who is signed in. Default: the status 503
   * with `Retry-After` and a message as JSON, from `unavailableResponse`.
   */
  unavailable?: ((request: Request, error: SessionUnavailable) => Response | Promise<Response>) | undefined
}

type LazyConfig = (...args: never[]) => Awaitable<SessionConfig>

/** What NextAuth returns, as far as it is changed here. */
interface NextAuthParts {
  auth: (...args: never[]) => unknown
  handlers: { GET: (request: never) => Promise<Response>; POST: (request: never) => Promise<Response> }
}

/** The session that a handler finds in `request.auth`. */
type SessionOf<Auth> = Auth extends (handler: (request: infer R, ...rest: never[]) => unknown) => unknown
  ? R extends { auth: infer Session }
    ? Session
    : never
  : never

/** What withAuthwire adds. */
export interface GetSession<Session> {
  /**
   * Who is signed in; null for nobody. Throws SessionUnavailable if that cannot be told.
   *
   * @param request - Whose cookies to read. Default: the request that Next.js is answering, as `auth()` takes it.
   */
  getSession(request?: Request): Promise<Session>
}

type Call = (...args: unknown[]) => unknown

/**
 * NextAuth, with an answer of its own for an outage. By itself Auth.js takes it for a sign-out: `auth()` says that nobody is
 * signed in, and the cookies of JWT sessions are removed. With this function
 *
 * - `auth()` and `getSession()` throw SessionUnavailable, in server components, actions and the Pages Router;
 * - `auth` around `proxy.ts` or a route handler, and the handlers of Auth.js, answer 503 with `Retry-After`;
 * - no cookie is removed, and a service that hangs costs a page `sessionTimeoutMs`.
 *
 * @param nextAuth - What `next-auth` exports as default.
 * @param config - The configuration, as NextAuth takes it.
 * @throws AuthwireError with INVALID_ARGUMENT if an option is wrong.
 * @example
 * ```ts
 * import { AuthwireAdapter } from "@authwire/client"
 * import { withAuthwire } from "@authwire/client/nextjs"
 * import NextAuth from "next-auth"
 *
 * export const { handlers, auth, signIn, signOut, getSession } = withAuthwire(NextAuth, {
 *   adapter: AuthwireAdapter({ url: process.env.AUTHWIRE_URL, apiKey: process.env.AUTHWIRE_API_KEY }),
 *   providers: [],
 * })
 * ```
 */
export function withAuthwire<Config extends SessionConfig | LazyConfig, Result extends NextAuthParts>(
  nextAuth: (config: Config) => Result,
  config: NoInfer<Config>,
  options: NextjsOptions = {},
): Result & GetSession<SessionOf<Result["auth"]>> {
  const { unavailable = (_, error) => unavailableResponse(error) } = options
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
    return (request: Request) => answer(request, () => handle(request))
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
      // As NextAuth takes a request of the Pages Router: it needs headers, and somewhere to put cookies.
      return auth({ headers: sessionHeaders(request) }, { headers: new Headers() })
    },
  } as Result & GetSession<SessionOf<Result["auth"]>>
}

/** The status 503 with `Retry-After`, and a message as JSON. */
export function unavailableResponse(error: SessionUnavailable): Response {
  const message = "It cannot be told who is signed in at the moment. Nobody has been signed out. Please try again."
  const headers = { "cache-control": "no-store", "retry-after": String(error.retryAfterSeconds) }
  return Response.json({ message }, { status: 503, headers })
}

function withOutages(config: SessionConfig | LazyConfig, options: SessionOptions) {
  const throwingOutages = outageThrower(options)
  if (typeof config !== "function") return throwingOutages(config)
  return async (...args: never[]) => throwingOutages(await config(...args))
}

/** The headers of a request, with those that Next.js adds: from them Auth.js tells the name of the session cookie. */
function sessionHeaders(request: Request): Headers {
  const headers = new Headers(request.headers)
  const { host, protocol } = new URL(request.url)
  if (!headers.has("host")) headers.set("host", host)
  if (!headers.has("x-forwarded-proto")) headers.set("x-forwarded-proto", protocol.slice(0, -1))
  return headers
}
