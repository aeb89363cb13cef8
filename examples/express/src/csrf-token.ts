import { Auth } from "@auth/core"
import type { ExpressAuthConfig } from "@auth/express"
import type { Request, Response } from "express"

/** The token that every form to Auth.js carries, and its cookie set on the response: so the page needs no script. */
export async function csrfToken(request: Request, response: Response, auth: ExpressAuthConfig): Promise<string> {
  const answer = await askAuth(request, auth)
  for (const cookie of answer.headers.getSetCookie()) response.append("Set-Cookie", cookie)
  const { csrfToken } = await answer.json()
  return csrfToken
}

/**
 * Whether a form of the application's own carries the token of the browser that sends it. Auth.js answers the token of a
 * cookie that it has made, and a new one, which nobody knows yet, for any other cookie and for none.
 */
export async function isOurForm(request: Request, auth: ExpressAuthConfig): Promise<boolean> {
  const { csrfToken } = await (await askAuth(request, auth)).json()
  return csrfToken === request.body?.csrfToken
}

function askAuth(request: Request, auth: ExpressAuthConfig) {
  const url = `${request.protocol}://${request.get("host")}${auth.basePath}/csrf`
  return Auth(new Request(url, { headers: { cookie: request.headers.cookie ?? "" } }), auth)
}
