import type { ExpressAuthConfig } from "@auth/express"
import Nodemailer from "@auth/express/providers/nodemailer"
import Passkey from "@auth/express/providers/passkey"
import { type AuthwireClient, createAuthwireClient, throwOutages } from "@authwire/client"
import { requestContext } from "@authwire/client/request-context"
import { oidcClientId } from "./config.js"
import { logError, logWarning } from "./log.js"

/** The configuration of the application: the addresses of other services, and the secrets that it shares with them. */
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
    /** A claim of the demo's provider. Authwire stores it without any declaration. */
    role?: string | undefined
  }
}

/** Returns the configuration of Auth.js and the client for the page of devices. Both use the same connection. */
export function authWith(config: AppConfig) {
  const { authwireUrl: url, authwireApiKey: apiKey } = config
  // Stores with each session from where the user signed in; see app.ts.
  const authwire = createAuthwireClient({ url, apiKey, context: requestContext })
  return { auth: authConfig(config, authwire), authwire }
}

/** `adapter` is the only line that Authwire needs. JWT sessions also need `jwt`. */
function authConfig(
  config: AppConfig,
  { adapter, jwt }: Pick<AuthwireClient, "adapter" | "jwt">,
): ExpressAuthConfig & { basePath: string } {
  return throwOutages({
    adapter,
    session: { strategy: config.sessionStrategy },
    // Not used with database sessions. Authwire encrypts with its own secret, so `secret` below never leaves this
    // process.
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
        // Asks for the user at every sign-in, so that the demo can switch between users.
        authorization: { params: { scope: "openid profile email", prompt: "login" } },
        // The name and the address are in the answer of the userinfo endpoint, not in the ID token (OIDC Core, 5.4).
        idToken: false,
        profile: ({ sub, name, email, role }) => ({ id: sub, name, email, role }),
      },
      Nodemailer({ name: "e-mail", server: config.smtpUrl, from: "Authwire example <no-reply@example.com>" }),
      Passkey,
    ],
    callbacks: {
      // A JWT session is the only copy of the user's data after the sign-in, so it must contain what the page shows.
      jwt: ({ token, user }) => (user ? { ...token, role: user.role } : token),
      // The given session contains the session token, which must stay in the cookie. Return only the fields that are
      // needed.
      session: ({ session, user, token }) => {
        const { id, name, email, role } = user ?? { ...token, id: token.sub }
        return { user: { id, name, email, role }, expires: new Date(session.expires).toISOString() }
      },
    },
    pages: { signIn: "/", error: "/error", verifyRequest: "/check-mail" },
    // Auth.js considers its passkey support experimental.
    experimental: { enableWebAuthn: true },
    logger: { error: logError, warn: logWarning },
    basePath: "/auth",
    secret: config.authSecret,
    trustHost: true,
  })
}
