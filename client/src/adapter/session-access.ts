import type { AdapterSession } from "@auth/core/adapters"
import type { SessionService } from "@authwire/proto/slim"
import type { Client } from "@connectrpc/connect"
import { wrongOption } from "../error.js"
import * as convert from "./convert.js"

/** The ages of sessions, both in seconds: the same as in `session` of the configuration of Auth.js. */
export interface SessionAgeOptions {
  /** How long a session lasts from when it is extended. From 0.001 to 3,153,600,000. Default: 2,592,000 (30 days). */
  maxAge?: number | undefined
  /**
   * How long a session that was extended is not extended again; 0 extends it with each request. From 0 to 3,153,600,000.
   * Default: 86,400 (a day).
   */
  updateAge?: number | undefined
}

/** The longest age that the service takes: 36,500 days. */
const longest = 3_153_600_000

/**
 * How long after it has read a session Auth.js may take to ask for its extension, in milliseconds: it does so in the same
 * request, with nothing to wait for between the two.
 */
const followsWithinMs = 5_000

/** How many sessions are remembered at the most. Those of more requests at the same time are extended by a call of their own. */
const rememberedSessions = 1_000

/**
 * Reads sessions so that they are extended when that is due.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is wrong.
 */
export function sessionAccess(sessions: Client<typeof SessionService>, options: SessionAgeOptions) {
  if (typeof options !== "object" || options === null) throw wrongOption("sessions", "must be an object")
  const maxAge = age("maxAge", options.maxAge ?? 2_592_000, 0.001)
  const updateAge = age("updateAge", options.updateAge ?? 86_400, 0)
  const extend = { maxAge: duration(maxAge), updateAge: duration(updateAge) }
  // The oldest first.
  const remembered = new Map<string, { session: AdapterSession; at: number }>()

  /**
   * By its clock, which is not that of the service, Auth.js may find that an extension is still due, and with an
   * `updateAge` of 0 it always does. Only such sessions are remembered.
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
    /** A session and its user. Throws what the call throws. */
    async get(sessionToken: string) {
      const answer = await sessions.accessSession({ sessionToken, extend })
      const session = convert.sessionFromWire(answer.session)
      remember(session)
      return { session, user: convert.userFromWire(answer.user) }
    },

    /**
     * The session, if this is the update by which Auth.js extends what it has just read: one that changes the expiry only,
     * to what it is when the session is extended now. Undefined for any other update.
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
