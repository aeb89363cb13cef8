import { signals } from "@authwire/client/nextjs"
import { authwire } from "@/auth"

/** Passes the logout tokens of a provider on to Authwire, which ends the sessions. */
export const { POST } = signals(authwire)
