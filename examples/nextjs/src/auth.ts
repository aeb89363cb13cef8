import { createAuthwireClient } from "@authwire/client"
import { withAuthwire } from "@authwire/client/nextjs"
import NextAuth from "next-auth"
import Nodemailer from "next-auth/providers/nodemailer"
import Passkey from "next-auth/providers/passkey"
import { unavailable } from "./unavailable"

declare module "next-auth" {
  interface User {
    /** A claim of the demo's provider. Nothing had to be declared in Authwire to keep it. */
    role?: string
  }
}

// Defaults for `make run`. An application of yours would rather do without.
const url = process.env.AUTHWIRE_URL ?? "http://127.0.0.1:50051"
const smtpUrl = process.env.SMTP_URL ?? "smtp://127.0.0.1:3025"

export const { adapter, jwt } = createAuthwireClient({ url, apiKey: process.env.AUTHWIRE_API_KEY })

export const { handlers, auth, signIn, signOut, getSession, unstable_update } = withAuthwire(
  NextAuth,
  {
    adapter,
    // With database sessions nobody calls it. With tokens, Authwire encrypts them: their secret never enters this process.
    jwt,
    session: { strategy: process.env.SESSION_STRATEGY === "jwt" ? "jwt" : "database" },
    providers: [
      {
        // Its issuer and secret are AUTH_DEMO_ISSUER and AUTH_DEMO_SECRET.
        id: "demo",
        name: "Demo provider",
        type: "oidc",
        clientId: "authwire-example",
        checks: ["pkce", "state", "nonce"],
        authorization: { params: { scope: "openid profile email", prompt: "login" } },
        // The name and the address stand in the answer of the userinfo endpoint, not in the id token (OIDC Core, 5.4).
        idToken: false,
        profile: ({ sub, name, email, role }) => ({ id: sub, name, email, role }),
      },
      Nodemailer({ server: smtpUrl, from: "Authwire example <no-reply@example.com>" }),
      // A passkey is added by somebody who is signed in. Signing up with one, as Auth.js offers it, would take an address
      // that nobody has verified, and its answers would tell strangers who has an account.
      Passkey({ getUserInfo: async () => null }),
    ],
    experimental: { enableWebAuthn: true },
    callbacks: {
      // A JWT session is all that is left of the user after the sign-in: keep what the pages show.
      jwt: ({ token, user, trigger, session }) => {
        if (user) return { ...token, role: user.role }
        return trigger === "update" ? { ...token, name: session.user.name } : token
      },
      // The session that comes in holds the session token, which belongs into the cookie and nowhere else: name what goes out.
      session: ({ session, user, token }) => {
        const { id, name, email, role } = user ?? { ...token, id: token.sub }
        return { user: { id, name, email, role }, expires: new Date(session.expires).toISOString() }
      },
    },
    pages: { signIn: "/", error: "/sign-in-error", verifyRequest: "/check-mail" },
    trustHost: true,
  },
  { unavailable },
)
