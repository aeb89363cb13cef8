import { randomBytes } from "node:crypto"

/** Everything here speaks plain HTTP and shows sign-in links to whoever asks, so nothing may be reached from outside. */
export const host = "127.0.0.1"

/** Under which the provider knows the application. */
export const oidcClientId = "authwire-example"

export interface Config {
  /** Port of the application. Default 3000; 0 lets the system choose, here and below. */
  port: number
  /** Port of the OpenID Connect provider. Default 3001. */
  oidcPort: number
  /** Port of the SMTP server that catches the mails. Default 3025. */
  smtpPort: number
  /** Port of the page that shows the mails. Default 3002. */
  mailboxPort: number
  /** The gRPC listener of Authwire. Default `http://127.0.0.1:50051`. */
  authwireUrl: string
  /** The API key of this application; an Authwire with --dev needs none. Default: none. */
  authwireApiKey: string | undefined
  /** Where sessions are: rows of Authwire, or tokens that Authwire encrypts and the browser keeps. Default "database". */
  sessionStrategy: "database" | "jwt"
  /** Auth.js signs cookies and hashes e-mail tokens with it. Default: random, so that links do not outlive the process. */
  authSecret: string
  /** Shared by the application and the provider. Default: random; main.ts hands its own to the provider. */
  oidcClientSecret: string
}

/** Reads the environment. A value that cannot be used ends the process with one line that names the variable. */
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
  }
}
