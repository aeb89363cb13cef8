import { createAuthwireClient, nextAuth4Options } from "@authwire/client"

const { adapter, jwt } = createAuthwireClient({ url: process.env.AUTHWIRE_URL, nextAuth4: true })

/** The configuration of next-auth. The secret of JWT sessions is only in Authwire. */
export const authOptions = nextAuth4Options({
  adapter,
  jwt,
  session: { strategy: process.env.SESSION_STRATEGY },
  providers: [
    {
      id: "demo",
      name: "Demo",
      type: "oauth",
      wellKnown: `${process.env.DEMO_ISSUER}/.well-known/openid-configuration`,
      clientId: "authwire-example",
      clientSecret: process.env.DEMO_SECRET,
      checks: ["pkce", "state"],
      // The name and the address are in the answer of the userinfo endpoint.
      userinfo: { request: ({ client, tokens }) => client.userinfo(tokens) },
      authorization: { params: { scope: "openid profile email", prompt: "login" } },
      profile: ({ sub, name, email, role }) => ({ id: sub, name, email, role }),
    },
  ],
})
