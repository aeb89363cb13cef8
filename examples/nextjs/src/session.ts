import { SessionUnavailable } from "@authwire/client/nextjs"
import { cache } from "react"
import { getSession } from "./auth"

/** Who is signed in: a session, null for nobody, or "unavailable" if that cannot be told. Asked once for each request. */
export const currentSession = cache(async () => {
  try {
    return await getSession()
  } catch (error) {
    if (error instanceof SessionUnavailable) return "unavailable"
    throw error
  }
})
