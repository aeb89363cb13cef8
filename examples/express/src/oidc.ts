/**
 * An OpenID Connect provider with a few users and no passwords. The protocol is real (the certified oidc-provider
 * package); only the login page is a toy. It runs in a process of its own, like the provider of a real application.
 */
import { generateKeyPairSync, randomBytes } from "node:crypto"
import { createServer } from "node:http"
import express, { type ErrorRequestHandler, type Express } from "express"
import Provider, { type Configuration, errors } from "oidc-provider"
import { announce } from "./child.js"
import { type Config, host, oidcClientId, readConfig } from "./config.js"
import { html } from "./html.js"
import { listen } from "./listen.js"
import { sendPage } from "./page.js"
import { type Person, people } from "./people.js"

const hour = 3600

function configuration(config: Config): Configuration {
  return {
    clients: [
      {
        client_id: oidcClientId,
        client_secret: config.oidcClientSecret,
        // RFC 8252, section 7.3: the redirect URI of a native application may have any port of the loopback address.
        // The provider can therefore start before the application has a port.
        application_type: "native",
        // Passkeys need the host name; see public/passkey.js. The last URI is that of examples/nextjs.
        redirect_uris: [
          ...[host, "localhost"].map((name) => `http://${name}/auth/callback/demo`),
          "http://localhost/api/auth/callback/demo",
        ],
        post_logout_redirect_uris: [host, "localhost"].map((name) => `http://${name}/`),
        ...(config.oidcLogoutUrl && {
          backchannel_logout_uri: config.oidcLogoutUrl,
          backchannel_logout_session_required: true,
        }),
        grant_types: ["authorization_code", "refresh_token"],
      },
    ],
    claims: {
      openid: ["sub"],
      profile: ["name", "role"],
      email: ["email", "email_verified"],
    },
    cookies: { keys: [randomBytes(32).toString("base64url")] },
    // The package itself sends nothing to this machine, where the application is.
    fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined } as RequestInit),
    features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: false } },
    findAccount: (_context, sub) => {
      const person = people.find((candidate) => candidate.sub === sub)
      return person && { accountId: sub, claims: () => claims(person) }
    },
    interactions: { url: (_context, interaction) => `/login/${interaction.uid}` },
    issueRefreshToken: (_context, client) => client.grantTypeAllowed("refresh_token"),
    jwks: { keys: [generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" })] },
    pkce: { required: () => true },
    renderError: (context, out) => {
      context.type = "html"
      context.body = html`<!doctype html><title>Rejected</title><p>${out.error}: ${out.error_description}</p>`.markup
    },
    ttl: {
      AccessToken: hour,
      Grant: 24 * hour,
      IdToken: hour,
      Interaction: hour,
      RefreshToken: 24 * hour,
      Session: hour,
    },
  }
}

function claims(person: Person) {
  return { ...person, ...(person.email && { email_verified: true }) }
}

function createLoginPages(provider: Provider): Express {
  const pages = express()
  pages.disable("x-powered-by")
  pages.get("/login/:uid", async (request, response) => {
    await provider.interactionDetails(request, response)
    sendPage(
      response,
      200,
      "Who are you?",
      html`<section>
<p class="soft">This is the demo's OpenID Connect provider. Choose somebody to be.</p>
<form method="post">
${people.map(
  (person) => html`<p><button class="person" name="person" value="${person.sub}">${person.name}
<small>${person.email ?? "no e-mail address"}</small></button></p>`,
)}
<button class="plain" name="person" value="">Cancel</button>
</form>
</section>`,
    )
  })
  pages.post("/login/:uid", express.urlencoded({ extended: false }), async (request, response) => {
    const interaction = await provider.interactionDetails(request, response)
    const { params, session } = interaction
    if (session) {
      // Removes the previous session. Otherwise the provider would first show a page of its own to sign that user out.
      await (await provider.Session.findByUid(session.uid))?.destroy()
      delete interaction.session
      await interaction.save(interaction.exp - Math.floor(Date.now() / 1000))
    }
    const person = people.find(({ sub }) => sub === request.body?.person)
    if (!person) {
      const rejection = { error: "access_denied", error_description: "Nobody was chosen" }
      return provider.interactionFinished(request, response, rejection)
    }
    // The application and the provider belong to the same organization, so no separate consent is needed.
    const grant = new provider.Grant({ accountId: person.sub, clientId: String(params.client_id) })
    grant.addOIDCScope(String(params.scope))
    const grantId = await grant.save()
    await provider.interactionFinished(request, response, { login: { accountId: person.sub }, consent: { grantId } })
  })
  pages.use(provider.callback())
  pages.use(failure)
  return pages
}

/** Handles errors. The usual cause is a user who returned to a login page that was already answered. */
const failure: ErrorRequestHandler = (error, _request, response, next) => {
  const over = error instanceof errors.SessionNotFound
  if (!over) console.error("oidc:", error)
  if (response.headersSent) return next(error)
  const text = over ? "This sign-in is over. Go back to the application and start again." : "Something went wrong."
  sendPage(
    response,
    over ? 400 : 500,
    "Please start again",
    html`<section class="bad"><p id="error">${text}</p></section>`,
  )
}

const config = readConfig(process.env)
const server = createServer()
// The issuer is part of every token, so the port must be known first.
const issuer = `http://${host}:${await listen(server, config.oidcPort, "OIDC_PORT")}`
const provider = new Provider(issuer, configuration(config))
provider.on("server_error", (_context, error) => console.error("oidc:", error))
provider.on("backchannel.error", (_context, error) => console.error("oidc: a logout token was not taken:", error))
server.on("request", createLoginPages(provider))
announce(`oidc: listening on ${issuer}`, { issuer })
