import { SessionUnavailable, unavailableResponse } from "@authwire/client/nextjs"
import { getSession } from "@/auth"

/** Who is signed in, as JSON: 200, 401 for nobody, 503 if that cannot be told. */
export async function GET(request: Request): Promise<Response> {
  try {
    const session = await getSession(request)
    return session ? Response.json(session) : Response.json({ message: "Nobody is signed in." }, { status: 401 })
  } catch (error) {
    if (error instanceof SessionUnavailable) return unavailableResponse(error)
    throw error
  }
}
