import type { AdapterSession } from "@auth/core/adapters"
import type { SessionService } from "@authwire/proto/slim"
import type { Client } from "@connectrpc/connect"
import { wrongOption } from "../error.js"
import * as convert from "./convert.js"

/** The ages of sessions, both in seconds. They must equal those of `session` in the Auth.js configuration. */
export interface SessionAgeOptions {
  /** The lifetime of a session from its extension on. From 0.001 to 3,153,600,000. Default: 2,592,000 (30 days). */
  maxAge?: number | undefined
  /**
   * The shortest time between two extensions of a session; 0 extends it with each request. From 0 to 3,153,600,000.
   * Default: 86,400 (a day).
   */
  updateAge?: number | undefined
}

/** The longest age that the service accepts, in seconds: 36,500 days. */
const longest = 3_153_600_000

/**
 * The longest time after a read within which Auth.js may request the extension of a session, in milliseconds. Auth.js
 * does so in the same request and does not wait for anything in between.
 */
const followsWithinMs = 5_000

/**
 * The maximum number of remembered sessions. If more requests are in progress, sessions are extended by separate calls.
 */
const rememberedSessions = 1_000

/**
 * Creates functions that read sessions with AccessSession, which extends a session if that is due.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is invalid.
 */
export function sessionAccess(sessions: Client<typeof SessionService>, options: SessionAgeOptions) {
  if (typeof options !== "object" || options === null) throw wrongOption("sessions", "must be an object")
  const maxAge = age("maxAge", options.maxAge ?? 2_592_000, 0.001)
  const updateAge = age("updateAge", options.updateAge ?? 86_400, 0)
  const extend = { maxAge: duration(maxAge), updateAge: duration(updateAge) }
  // Oldest entry first.
  const remembered = new Map<string, { session: AdapterSession; at: number }>()

  /**
   * Remembers a session that Auth.js may still extend. By its own clock, which differs from the service's, Auth.js may
   * find that an extension is still due. With an `updateAge` of 0 it always does.
   */
  function remember(session: AdapterSession): void {
    const at = Date.now()
    if (session.expires.getTime() - (maxAge - updateAge) * 1000 > at + followsWithinMs) return
    remembered.delete(session.sessionToken)
    for (const [token, oldest] of remembered) {
      if (remembered.size < rememberedSessions && at - oldest.at <= followsWithinMs) break
      remembered.delete(token)
    }
    remembered.set(session.sessionToken, { session, at })
  }

  return {
    /** Returns a session and its user. Throws the error of the call. */
    async get(sessionToken: string) {
      const answer = await sessions.accessSession({ sessionToken, extend })
      const session = convert.sessionFromWire(answer.session)
      remember(session)
      return { session, user: convert.userFromWire(answer.user) }
    },

    /**
     * Returns the session if this update is the extension of a session that Auth.js has just read. Such an update
     * changes only the expiry, to the value of an extension at this moment. Returns undefined for any other update.
     */
    extended({ sessionToken, expires, ...others }: Partial<AdapterSession> & Pick<AdapterSession, "sessionToken">) {
      const now = Date.now()
      const { session, at } = remembered.get(sessionToken) ?? { at: Number.NEGATIVE_INFINITY }
      const isNow = Math.abs(Number(expires) - maxAge * 1000 - now) <= followsWithinMs
      const isAlone = Object.values(others).every((value) => value === undefined)
      return now - at <= followsWithinMs && isNow && isAlone ? session : undefined
    },
  }
}

function age(name: keyof SessionAgeOptions, seconds: unknown, least: number): number {
  if (typeof seconds === "number" && seconds >= least && seconds <= longest) return seconds
  throw wrongOption(`sessions.${name}`, `must be a number of seconds from ${least} to ${longest}`)
}

function duration(seconds: number) {
  const ms = Math.round(seconds * 1000)
  return { seconds: BigInt(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1_000_000 }
}
