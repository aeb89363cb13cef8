import { SessionUnavailable } from "@authwire/client/nextjs"
import { cache } from "react"
import { getSession } from "./auth"

/** Returns the session, null without one, or "unavailable" during an outage. Authwire is asked once per request. */
export const currentSession = cache(async () => {
  try {
    return await getSession()
  } catch (error) {
    if (error instanceof SessionUnavailable) return "unavailable"
    throw error
  }
})
