import type { Adapter } from "@auth/core/adapters"
import { AuthwireAdapter, AuthwireError, RemoteJwt, throwOutages } from "@authwire/client"
import { handleLoginOrRegister } from "../../support/applications/auth-core.ts"

// For workerd: each request is a sign-in by e-mail. The response is `{ created }`, or `{ code }` if the sign-in fails.

export interface SignIn {
  readonly email: string
  /** The session cookie of the request, or an empty text. */
  readonly cookie: string
}

export interface SignInOptions {
  /** The URL of the service. */
  readonly url: string
  /** The URL at which tokens are decoded. */
  readonly tokenUrl: string
}

/** One configuration for all requests, as in an application. */
let auth: ReturnType<typeof configuration> | undefined

function configuration({ url, tokenUrl }: SignInOptions) {
  return throwOutages({ adapter: AuthwireAdapter({ url }) as Adapter, jwt: RemoteJwt({ url: tokenUrl }) })
}

export default {
  async fetch(request: Request): Promise<Response> {
    const { email, cookie, ...options } = (await request.json()) as SignIn & SignInOptions
    auth ??= configuration(options)
    const account = { provider: "email", type: "email" as const, providerAccountId: email, userId: "" }
    const signedIn = { token: cookie, jwt: auth.jwt, cookie: "authjs.session-token" }
    try {
      const { isNewUser } = await handleLoginOrRegister({ email }, account, auth.adapter as Required<Adapter>, signedIn)
      return Response.json({ created: isNewUser })
    } catch (error) {
      if (error instanceof AuthwireError) return Response.json({ code: error.code })
      throw error
    }
  },
}
