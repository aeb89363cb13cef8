import { Auth } from "@auth/core"
import { JWTSessionError, SessionTokenError } from "@auth/core/errors"
import { type ExpressAuthConfig, getSession, type Session } from "@auth/express"
import { AuthwireError } from "@authwire/client"
import type { Request, Response } from "express"

/** It cannot be told who is signed in. The log has the reason already. */
export class SessionUnavailable extends Error {}

/**
 * Who is signed in, or null. Throws `SessionUnavailable` when that cannot be told: Auth.js only logs a failure of the
 * adapter here and answers "nobody", so that an outage would look to people as if they had been signed out.
 */
export async function currentSession(request: Request, auth: ExpressAuthConfig): Promise<Session | null> {
  const failures: Error[] = []
  const logger = {
    ...auth.logger,
    error(error: Error) {
      if (error instanceof SessionTokenError || (error instanceof JWTSessionError && !isRejection(error)))
        failures.push(error)
      auth.logger?.error?.(error)
    },
  }
  const session = await getSession(request, { ...auth, logger })
  if (failures.length > 0) throw new SessionUnavailable("no session", { cause: failures[0] })
  return session
}

/** Whether a token was read and rejected: it has expired, say. Then nobody is signed in, and that is no failure. */
function isRejection(error: JWTSessionError): boolean {
  const cause = error.cause?.err
  return !(cause instanceof AuthwireError) || cause.code === "UNAUTHENTICATED"
}

/** The token that every form to Auth.js carries, and its cookie set on the response: so the page needs no script. */
export async function csrfToken(request: Request, response: Response, auth: ExpressAuthConfig): Promise<string> {
  const url = `${request.protocol}://${request.get("host")}${auth.basePath}/csrf`
  const answer = await Auth(new Request(url, { headers: { cookie: request.headers.cookie ?? "" } }), auth)
  for (const cookie of answer.headers.getSetCookie()) response.append("Set-Cookie", cookie)
  const { csrfToken } = await answer.json()
  return csrfToken
}
