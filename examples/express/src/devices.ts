import { type ExpressAuthConfig, getSession } from "@auth/express"
import type { AuthwireClient } from "@authwire/client"
import express, { type RequestHandler, type Response, type Router } from "express"
import { csrfToken, isOurForm } from "./csrf-token.js"
import { type Html, html } from "./html.js"
import { moment } from "./moment.js"
import { sendPage } from "./page.js"
import { passkeyForms, yourPasskeys } from "./your-passkeys.js"

/** The parts of Authwire's client that the pages use. */
export type Authwire = Pick<AuthwireClient, "adapter" | "authenticators" | "introspection" | "sessions">
type Session = Awaited<ReturnType<Authwire["sessions"]["listSessions"]>>["sessions"][number]

/** The user who sends the request. Determined only by the cookie, never by data of a form. */
interface Visitor {
  userId: string
  /** The id of this browser's session. */
  sessionId: string
}

/** The maximum number of devices that the page shows. */
const shownDevices = 100

/**
 * Returns the pages on which users see the devices where they are signed in, and their passkeys. They sign devices out, and
 * name and remove passkeys.
 */
export function devices({ auth, authwire }: { auth: ExpressAuthConfig; authwire: Authwire }): Router {
  const { introspection, sessions } = authwire
  const visitors = new WeakMap<Response, Visitor>()
  const visitorOf = (response: Response) => visitors.get(response) as Visitor

  const onlySignedIn: RequestHandler = async (request, response, next) => {
    // Auth.js extends the session, and reports an outage. The session may be revoked between the two calls.
    if ((await getSession(request, auth)) === null) return response.redirect(303, "/")
    const headers = [{ name: "cookie", value: request.headers.cookie ?? "" }]
    const { active, sub: userId, sessionId } = await introspection.introspect({ headers })
    if (!active) return response.redirect(303, "/")
    visitors.set(response, { userId, sessionId })
    next()
  }
  const onlyOurForms: RequestHandler = async (request, response, next) => {
    if (await isOurForm(request, auth)) return next()
    const text = html`<p id="error">The form was not one of this page, or it was too old. <a href="/devices">Look again</a></p>`
    sendPage(response, 403, "Nothing was changed", html`<section class="bad">${text}</section>`)
  }

  return express
    .Router()
    .use(onlySignedIn)
    .get("/", async (request, response) => {
      const { userId, sessionId } = visitorOf(response)
      const listed: Session[] = []
      // One more than is shown. A page may be empty although others follow.
      for await (const session of sessions.list({ userId, active: true, pageSize: shownDevices + 1 })) {
        if (listed.push(session) > shownDevices) break
      }
      const token = await csrfToken(request, response, auth)
      const items = listed.slice(0, shownDevices).map((session) => device(session, session.id === sessionId, token))
      const more = listed.length > shownDevices && html`<p id="more">These are the last ${shownDevices}.</p>`
      const others = listed.length > 1 && html`<section>${form("others", token, "Sign out all others")}</section>`
      const passkeys = await yourPasskeys(authwire, userId, token)
      const body = html`${items}${more}${others}${passkeys}<footer><a href="/">Back</a></footer>`
      sendPage(response, 200, "Your devices", body)
    })
    .use(express.urlencoded({ extended: false }), onlyOurForms)
    .use(
      "/passkeys",
      passkeyForms(authwire, (response) => visitorOf(response).userId),
    )
    .post("/sign-out", async (request, response) => {
      const { userId } = visitorOf(response)
      const id = String(request.body.id)
      // The user id ensures that users can only end their own sessions, whatever id the form contains.
      if (id.length > 0 && id.length <= 32) await sessions.revokeSession({ id, userId })
      response.redirect(303, "/devices")
    })
    .post("/sign-out-others", async (_request, response) => {
      const { userId, sessionId } = visitorOf(response)
      await sessions.revokeUserSessions({ userId, keptId: sessionId })
      response.redirect(303, "/devices")
    })
}

function device(session: Session, isThis: boolean, token: string): Html {
  const { id, userAgent, ip, createTime, lastSeenTime } = session
  return html`<section class="device" data-id="${id}">
<h2>${userAgent || "Unknown device"}${isThis && html` <strong class="this">this device</strong>`}</h2>
<dl>
<dt>Address</dt><dd>${ip ?? "unknown"}</dd>
<dt>Signed in</dt><dd>${moment(createTime)}</dd>
<dt>Last seen</dt><dd>${moment(lastSeenTime)}</dd>
</dl>
${isThis ? signOutHere(token) : form("one", token, "Sign out", html`<input type="hidden" name="id" value="${id}">`)}
</section>`
}

/** Returns the sign-out form of Auth.js, which also removes the cookie. */
function signOutHere(token: string): Html {
  return html`<form class="here" method="post" action="/auth/signout">
<input type="hidden" name="csrfToken" value="${token}">
<button>Sign out</button>
</form>`
}

function form(what: "one" | "others", token: string, text: string, input?: Html): Html {
  const action = what === "one" ? "/devices/sign-out" : "/devices/sign-out-others"
  return html`<form class="${what}" method="post" action="${action}">
<input type="hidden" name="csrfToken" value="${token}">
${input}<button class="plain">${text}</button>
</form>`
}
