import { Auth } from "@auth/core"
import type { ExpressAuthConfig } from "@auth/express"
import type { Request, Response } from "express"

/** The token that every form to Auth.js carries, and its cookie set on the response: so the page needs no script. */
export async function csrfToken(request: Request, response: Response, auth: ExpressAuthConfig): Promise<string> {
  const url = `${request.protocol}://${request.get("host")}${auth.basePath}/csrf`
  const answer = await Auth(new Request(url, { headers: { cookie: request.headers.cookie ?? "" } }), auth)
  for (const cookie of answer.headers.getSetCookie()) response.append("Set-Cookie", cookie)
  const { csrfToken } = await answer.json()
  return csrfToken
}
