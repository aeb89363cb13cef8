/** Starts the whole example: the provider and the mailbox in processes of their own, then the application. */
import { createServer } from "node:http"
import { createApp } from "./app.js"
import { announce, startChild } from "./child.js"
import { host, readConfig } from "./config.js"
import { listen } from "./listen.js"

const config = readConfig(process.env)
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit())

const [oidc, mailbox] = await Promise.all([
  startChild(new URL("./oidc.js", import.meta.url), { OIDC_CLIENT_SECRET: config.oidcClientSecret }),
  startChild(new URL("./mailbox.js", import.meta.url), {}),
])
const app = createApp({
  authwireUrl: config.authwireUrl,
  authwireApiKey: config.authwireApiKey,
  sessionStrategy: config.sessionStrategy,
  authSecret: config.authSecret,
  issuer: oidc.issuer!,
  oidcClientSecret: config.oidcClientSecret,
  smtpUrl: mailbox.smtpUrl!,
  mailboxUrl: mailbox.mailboxUrl!,
})
const appUrl = `http://${host}:${await listen(createServer(app), config.port, "PORT")}`
announce(`app: listening on ${appUrl}`, { appUrl, ...oidc, ...mailbox })
