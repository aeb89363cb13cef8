import { SessionUnavailable, unavailableResponse } from "@authwire/client/nextjs"
import { getSession } from "@/auth"

/** Returns the signed-in user as JSON. The status is 401 without a session, and 503 if Authwire is unavailable. */
export async function GET(request: Request): Promise<Response> {
  try {
    const session = await getSession(request)
    return session ? Response.json(session) : Response.json({ message: "Nobody is signed in." }, { status: 401 })
  } catch (error) {
    if (error instanceof SessionUnavailable) return unavailableResponse(error)
    throw error
  }
}
