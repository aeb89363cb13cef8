import type { ExpressAuthConfig } from "@auth/express"
import Nodemailer from "@auth/express/providers/nodemailer"
import Passkey from "@auth/express/providers/passkey"
import { type AuthwireClient, createAuthwireClient, throwOutages } from "@authwire/client"
import { requestContext } from "@authwire/client/request-context"
import { oidcClientId } from "./config.js"
import { logError, logWarning } from "./log.js"

/** What the application has to know about the world: where things are, and the secrets it shares with them. */
export interface AppConfig {
  authwireUrl: string
  authwireApiKey?: string | undefined
  sessionStrategy: "database" | "jwt"
  authSecret: string
  issuer: string
  oidcClientSecret: string
  smtpUrl: string
  mailboxUrl: string
}

declare module "@auth/core/types" {
  interface User {
    /** A claim of the demo's provider. Nothing had to be declared in Authwire to keep it. */
    role?: string | undefined
  }
}

/** The configuration of Auth.js, and what the page of devices asks beside it: both by one connection. */
export function authWith(config: AppConfig) {
  const { authwireUrl: url, authwireApiKey: apiKey } = config
  // From where somebody signs in stands in the session; see app.ts.
  const { sessions, ...client } = createAuthwireClient({ url, apiKey, context: requestContext })
  return { auth: authConfig(config, client), sessions }
}

/** `adapter` is the one line that Authwire needs; `jwt` the other, for JWT sessions. */
function authConfig(
  config: AppConfig,
  { adapter, jwt }: Pick<AuthwireClient, "adapter" | "jwt">,
): ExpressAuthConfig & { basePath: string } {
  return throwOutages({
    adapter,
    session: { strategy: config.sessionStrategy },
    // With database sessions nobody calls it. Authwire encrypts with a secret of its own: ours never leaves this process.
    jwt,
    providers: [
      {
        id: "demo",
        name: "Demo provider",
        type: "oidc",
        issuer: config.issuer,
        clientId: oidcClientId,
        clientSecret: config.oidcClientSecret,
        checks: ["pkce", "state", "nonce"],
        // Ask every time who it is, so that the demo can change people.
        authorization: { params: { scope: "openid profile email", prompt: "login" } },
        // The name and the address stand in the answer of the userinfo endpoint, not in the id token (OIDC Core, 5.4).
        idToken: false,
        profile: ({ sub, name, email, role }) => ({ id: sub, name, email, role }),
      },
      Nodemailer({ name: "e-mail", server: config.smtpUrl, from: "Authwire example <no-reply@example.com>" }),
      Passkey,
    ],
    callbacks: {
      // A JWT session is all that is left of the user after the sign-in: keep what the page shows.
      jwt: ({ token, user }) => (user ? { ...token, role: user.role } : token),
      // The session that comes in holds the session token, which belongs into the cookie and nowhere else: name what goes out.
      session: ({ session, user, token }) => {
        const { id, name, email, role } = user ?? { ...token, id: token.sub }
        return { user: { id, name, email, role }, expires: new Date(session.expires).toISOString() }
      },
    },
    pages: { signIn: "/", error: "/error", verifyRequest: "/check-mail" },
    // Auth.js calls its passkeys an experiment.
    experimental: { enableWebAuthn: true },
    logger: { error: logError, warn: logWarning },
    basePath: "/auth",
    secret: config.authSecret,
    trustHost: true,
  })
}
