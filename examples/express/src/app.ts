import { ExpressAuth, getSession } from "@auth/express"
import { SessionUnavailable } from "@authwire/client"
import { withRequestContext } from "@authwire/client/request-context"
import express, { type ErrorRequestHandler, type Express } from "express"
import { type AppConfig, authWith } from "./auth.js"
import { csrfToken } from "./csrf-token.js"
import { devices } from "./devices.js"
import { errorPage, signInError } from "./errors.js"
import { signedIn, signedOut } from "./home.js"
import { html } from "./html.js"
import { sendPage } from "./page.js"
import { addPasskey, passkeyAssets, passkeyScript, passkeySignIn } from "./passkeys.js"

/** Creates the application. The caller listens on a port. */
export function createApp(config: AppConfig): Express {
  const { auth, authwire } = authWith(config)
  const app = express()
  app.disable("x-powered-by")
  // Behind a proxy, pass `{ trustedProxies: 1 }`. Otherwise the IP address of each session is that of the proxy.
  app.use("/auth", (request, _response, next) => withRequestContext(request, next), ExpressAuth(auth))
  app.use("/assets", passkeyAssets())

  if (config.sessionStrategy === "database") app.use("/devices", devices({ auth, authwire }))

  app.get("/", async (request, response) => {
    const session = await getSession(request, auth)
    const token = await csrfToken(request, response, auth)
    const body = session
      ? html`${signedIn(session, token)}${addPasskey()}`
      : html`${signedOut(token)}${passkeySignIn()}`
    const title = session ? `Hello, ${session.user?.name ?? session.user?.email ?? "you"}` : "Nobody is signed in"
    sendPage(
      response,
      200,
      title,
      html`${signInError(request.query.error)}${body}${links(config, session !== null)}`,
      passkeyScript,
    )
  })

  app.get("/check-mail", (_request, response) => {
    const text = html`A link is on its way. This demo's mails all arrive in the <a href="${config.mailboxUrl}">mailbox</a>.`
    sendPage(response, 200, "Look into your mail", html`<section><p>${text}</p></section>`)
  })

  app.get("/error", (request, response) => {
    const { status, title, text } = errorPage(request.query.error)
    const body = html`<section><p id="error">${text}</p><p><a href="/">Start again</a></p></section>`
    sendPage(response, status, title, body)
  })

  app.use(failure)
  return app
}

function links({ mailboxUrl, sessionStrategy }: AppConfig, isSignedIn: boolean) {
  const hasDevices = isSignedIn && sessionStrategy === "database"
  return html`<footer>
${hasDevices && html`<a href="/devices">Your devices</a> · `}
<a href="${mailboxUrl}">Mailbox</a> · <a href="/auth/session">The session as JSON</a>
</footer>`
}

/** Sends a page for an error, and logs the error unless Auth.js has logged it. */
const failure: ErrorRequestHandler = (error, _request, response, next) => {
  const outage = error instanceof SessionUnavailable
  if (!outage) console.error("app:", error)
  if (response.headersSent) return next(error)
  if (outage) response.set("Retry-After", String(error.retryAfterSeconds))
  const text = outage
    ? "The service that knows who is signed in does not answer. Nobody has been signed in or out."
    : "Something went wrong on our side. The log of the application says what."
  const body = html`<section class="bad"><p id="error">${text}</p></section><p><a href="/">Try again</a></p>`
  sendPage(response, outage ? 503 : 500, "Please try again", body)
}
