import { wrongOption } from "../errors/error.js"

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
 * Converts the ages to the `extend` of AccessSession.
 *
 * @throws AuthwireError with INVALID_ARGUMENT if an option is invalid.
 */
export function extensionToWire(options: SessionAgeOptions) {
  if (typeof options !== "object" || options === null) throw wrongOption("sessions", "must be an object")
  return {
    maxAge: duration(age("maxAge", options.maxAge ?? 2_592_000, 0.001)),
    updateAge: duration(age("updateAge", options.updateAge ?? 86_400, 0)),
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
