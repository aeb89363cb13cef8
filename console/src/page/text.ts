import type { User } from "@authwire/proto"
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt"
import Bowser from "bowser"

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" })
const days = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" })
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" })
const numbers = new Intl.NumberFormat()

export const number = (value: number | bigint) => numbers.format(value)

/** A number of things, such as `1 session` or `30 sessions`. */
export const counted = (value: number | bigint, one: string) =>
  `${number(value)} ${one}${Number(value) === 1 ? "" : "s"}`

/** A moment in the viewer's zone, to the second. */
export const moment = (time: Timestamp) => dates.format(timestampDate(time))

/** A day in the viewer's zone, such as `Nov 29`. `ms` is a moment of it, in milliseconds since 1970. */
export const dayOf = (ms: number) => days.format(ms)

/** The exact moment, for a tooltip. */
export const exact = (time: Timestamp) => timestampDate(time).toISOString()

const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
]

/** How long before `now` a moment was, or how far after it, such as `3 hours ago`. `now` is in milliseconds since 1970. */
export function ago(time: Timestamp, now = Date.now()): string {
  const difference = timestampDate(time).getTime() - now
  const [unit, size] = units.find(([, size]) => Math.abs(difference) >= size) ?? ["second", 1000]
  return relative.format(Math.trunc(difference / size), unit)
}

/** The browser and the system that a user agent names, such as `Firefox on Linux`. */
export function device(userAgent: string | undefined): string {
  if (userAgent === undefined || userAgent === "") return "Unknown device"
  const { browser, os } = Bowser.parse(userAgent.slice(0, 512))
  const known = [browser.name, os.name].filter((one) => one !== undefined && one !== "")
  return known.length === 0 ? userAgent.slice(0, 60) : known.join(" on ")
}

/** A user's own text, with what could turn the line around or hide a part made visible. */
export function plain(value: string): string {
  return value.replaceAll(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (one) => `⟨U+${one.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}⟩`,
  )
}

/** The same for a text of several lines. */
export function plainLines(value: string): string {
  return value.split("\n").map(plain).join("\n")
}

/** The beginning of a text that may be very long. */
export function shortened(value: string): string {
  return value.length <= 100 ? value : `${value.slice(0, 100)}…`
}

/** What a user is called: by name, otherwise by address, otherwise by id. */
export function nameOf({ name, email, id }: Pick<User, "name" | "email" | "id">): string {
  return shortened(name || email || id)
}
