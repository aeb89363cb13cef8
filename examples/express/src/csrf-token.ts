import { Auth } from "@auth/core"
import type { ExpressAuthConfig } from "@auth/express"
import type { Request, Response } from "express"

/**
 * Returns the CSRF token for forms to Auth.js, and sets its cookie on the response. The page then needs no script for
 * it.
 */
export async function csrfToken(request: Request, response: Response, auth: ExpressAuthConfig): Promise<string> {
  const answer = await askAuth(request, auth)
  for (const cookie of answer.headers.getSetCookie()) response.append("Set-Cookie", cookie)
  const { csrfToken } = await answer.json()
  return csrfToken
}

/**
 * Whether a form of the application carries the CSRF token of the browser that sends it. For a cookie that Auth.js has
 * created, Auth.js returns the token of that cookie. For any other cookie or none, it returns a new token, which cannot
 * be in the form.
 */
export async function isOurForm(request: Request, auth: ExpressAuthConfig): Promise<boolean> {
  const { csrfToken } = await (await askAuth(request, auth)).json()
  return csrfToken === request.body?.csrfToken
}

function askAuth(request: Request, auth: ExpressAuthConfig) {
  const url = `${request.protocol}://${request.get("host")}${auth.basePath}/csrf`
  return Auth(new Request(url, { headers: { cookie: request.headers.cookie ?? "" } }), auth)
}
