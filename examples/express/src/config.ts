import { randomBytes } from "node:crypto"

/**
 * All parts use plain HTTP and show sign-in links to every visitor, so they must be reachable from this machine only.
 */
export const host = "127.0.0.1"

/** The client id of the application at the provider. */
export const oidcClientId = "authwire-example"

export interface Config {
  /** The port of the application. Default 3000. For this port and those below, 0 lets the system choose a port. */
  port: number
  /** The port of the OpenID Connect provider. Default 3001. */
  oidcPort: number
  /** The port of the SMTP server that receives the mails. Default 3025. */
  smtpPort: number
  /** The port of the page that shows the mails. Default 3002. */
  mailboxPort: number
  /** The gRPC listener of Authwire. Default `http://127.0.0.1:50051`. */
  authwireUrl: string
  /** The API key of this application. An Authwire with --dev needs none. Default: none. */
  authwireApiKey: string | undefined
  /**
   * Where sessions are stored: as rows in Authwire, or as tokens that Authwire encrypts, in the browser. Default
   * "database".
   */
  sessionStrategy: "database" | "jwt"
  /**
   * Auth.js signs cookies and hashes e-mail tokens with it. Default: random, so that links become invalid at a restart.
   */
  authSecret: string
  /**
   * The secret that the application and the provider share. Default: random; main.ts passes its value to the provider.
   */
  oidcClientSecret: string
  /** The address to which the provider sends a logout token when a session ends there. Default: none is sent. */
  oidcLogoutUrl: string | undefined
}

/**
 * Reads the configuration from the environment. On an invalid value, prints a line that names the variable, and exits.
 */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const port = (variable: string, otherwise: number) => {
    const text = environment[variable] || String(otherwise)
    if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
    console.error(`${variable} is not a port: ${text}`)
    process.exit(2)
  }
  const secret = (variable: string) => environment[variable] || randomBytes(32).toString("base64url")
  const sessionStrategy = environment.SESSION_STRATEGY || "database"
  if (sessionStrategy !== "database" && sessionStrategy !== "jwt") {
    console.error(`SESSION_STRATEGY is neither database nor jwt: ${sessionStrategy}`)
    process.exit(2)
  }
  return {
    port: port("PORT", 3000),
    oidcPort: port("OIDC_PORT", 3001),
    smtpPort: port("SMTP_PORT", 3025),
    mailboxPort: port("MAILBOX_PORT", 3002),
    authwireUrl: environment.AUTHWIRE_URL || "http://127.0.0.1:50051",
    authwireApiKey: environment.AUTHWIRE_API_KEY || undefined,
    sessionStrategy,
    authSecret: secret("AUTH_SECRET"),
    oidcClientSecret: secret("OIDC_CLIENT_SECRET"),
    oidcLogoutUrl: environment.OIDC_LOGOUT_URL || undefined,
  }
}
