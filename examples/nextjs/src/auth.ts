import { createAuthwireClient } from "@authwire/client"
import { withAuthwire } from "@authwire/client/nextjs"
import NextAuth from "next-auth"
import Nodemailer from "next-auth/providers/nodemailer"
import Passkey from "next-auth/providers/passkey"

declare module "next-auth" {
  interface User {
    /** A claim of the demo's provider. Authwire stores it without any declaration. */
    role?: string
  }
}

// Defaults for `make run`. A real application should not have them.
const url = process.env.AUTHWIRE_URL ?? "http://127.0.0.1:50051"
const smtpUrl = process.env.SMTP_URL ?? "smtp://127.0.0.1:3025"

export const authwire = createAuthwireClient({
  url,
  apiKey: process.env.AUTHWIRE_API_KEY,
  sessionCache: process.env.SESSION_CACHE === "on" ? {} : undefined,
})
export const { adapter, authenticators, jwt } = authwire

export const { handlers, auth, signIn, signOut, getSession, unstable_update } = withAuthwire(NextAuth, {
  adapter,
  // Not used with database sessions. Authwire encrypts JWT sessions, and their secret never enters this process.
  jwt,
  session: { strategy: process.env.SESSION_STRATEGY === "jwt" ? "jwt" : "database" },
  providers: [
    {
      // Auth.js reads its issuer and secret from AUTH_DEMO_ISSUER and AUTH_DEMO_SECRET.
      id: "demo",
      name: "Demo provider",
      type: "oidc",
      clientId: "authwire-example",
      checks: ["pkce", "state", "nonce"],
      authorization: { params: { scope: "openid profile email", prompt: "login" } },
      // The name and the address are in the answer of the userinfo endpoint, not in the ID token (OIDC Core, 5.4).
      idToken: false,
      profile: ({ sub, name, email, role }) => ({ id: sub, name, email, role }),
    },
    Nodemailer({ server: smtpUrl, from: "Authwire example <no-reply@example.com>" }),
    // Only signed-in users can add a passkey. Auth.js can also create accounts with a passkey alone. That would
    // accept an unverified address, and its answers would reveal which addresses have an account.
    Passkey({ getUserInfo: async () => null }),
  ],
  experimental: { enableWebAuthn: true },
  callbacks: {
    // A JWT session is the only copy of the user's data after the sign-in, so it must contain what the pages show.
    jwt: ({ token, user, trigger, session }) => {
      if (user) return { ...token, role: user.role }
      // A browser can also ask for an update, with any data or none. An exception would sign the user out.
      const name: unknown = trigger === "update" ? session?.user?.name : undefined
      return typeof name === "string" ? { ...token, name } : token
    },
    // The given session contains the session token, which must stay in the cookie. Return only the fields that are
    // needed.
    session: ({ session, user, token }) => {
      const { id, name, email, role } = user ?? { ...token, id: token.sub }
      return { user: { id, name, email, role }, expires: new Date(session.expires).toISOString() }
    },
  },
  pages: { signIn: "/", error: "/sign-in-error", verifyRequest: "/check-mail" },
  trustHost: true,
})
