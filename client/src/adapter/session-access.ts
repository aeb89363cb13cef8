import type { AdapterSession } from "@auth/core/adapters"
import type { SessionService } from "@authwire/proto/slim"
import type { Client } from "@connectrpc/connect"
import { wrongOption } from "../errors/error.js"
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

interface Remembered {
  /** Undefined until the first of the reads that share this entry has ended. */
  session?: AdapterSession
  /** The time at which the session was read, or at which the read began, in milliseconds since 1970. */
  at: number
}

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
  // The session that was read least recently first.
  const remembered = new Map<string, Remembered>()

  /** Forgets a session, or all sessions if no token is given. Reads in progress do not remember their results. */
  function forget(sessionToken: string | undefined): void {
    if (sessionToken === undefined) remembered.clear()
    else remembered.delete(sessionToken)
  }

  /** Returns the entry for the result of a read that begins. Concurrent reads of a session share it. */
  function entryOf(sessionToken: string): Remembered {
    const at = Date.now()
    const known = remembered.get(sessionToken)
    remembered.delete(sessionToken)
    for (const [token, oldest] of remembered) {
      if (remembered.size < rememberedSessions && at - oldest.at <= followsWithinMs) break
      remembered.delete(token)
    }
    const entry = known !== undefined && at - known.at <= followsWithinMs ? known : { at }
    remembered.set(sessionToken, entry)
    return entry
  }

  /**
   * Returns whether Auth.js may still extend a session. By its own clock, which differs from the service's, Auth.js may
   * find that an extension is still due. With an `updateAge` of 0 it always does.
   */
  function mayBeExtended({ expires }: AdapterSession): boolean {
    return expires.getTime() - (maxAge - updateAge) * 1000 <= Date.now() + followsWithinMs
  }

  return {
    /** Returns a session and its user. Throws the error of the call. */
    async get(sessionToken: string) {
      const entry = entryOf(sessionToken)
      try {
        const answer = await sessions.accessSession({ sessionToken, extend })
        const session = convert.sessionFromWire(answer.session)
        if (mayBeExtended(session)) {
          entry.session = structuredClone(session)
          entry.at = Date.now()
        } else forget(sessionToken)
        return { session, user: convert.userFromWire(answer.user) }
      } catch (error) {
        forget(sessionToken)
        throw error
      }
    },

    /**
     * Makes a call that changes or ends a session, or any sessions if no token is given. They are forgotten before the
     * call, and after it as well, because a read during the call may return the state before the change.
     */
    async changing<T>(call: () => Promise<T>, sessionToken: string | undefined): Promise<T> {
      forget(sessionToken)
      try {
        return await call()
      } finally {
        forget(sessionToken)
      }
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
      return now - at <= followsWithinMs && isNow && isAlone ? structuredClone(session) : undefined
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
