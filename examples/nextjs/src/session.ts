import { SessionUnavailable } from "@authwire/client/nextjs"
import { connection } from "next/server"
import { cache } from "react"
import { getSession } from "./auth"

/** Returns the session, null without one, or "unavailable" during an outage. Authwire is asked once per request. */
export const currentSession = cache(async () => {
  // Auth.js generates a random value, which Next.js allows only while it answers a request.
  await connection()
  try {
    return await getSession()
  } catch (error) {
    if (error instanceof SessionUnavailable) return "unavailable"
    throw error
  }
})
