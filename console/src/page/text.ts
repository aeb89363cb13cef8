import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt"
import Bowser from "bowser"

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" })
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" })
const numbers = new Intl.NumberFormat()

export const number = (value: number | bigint) => numbers.format(value)

/** A moment in the viewer's zone, to the minute. */
export const moment = (time: Timestamp) => dates.format(timestampDate(time))

/** The exact moment, for a tooltip. */
export const exact = (time: Timestamp) => timestampDate(time).toISOString()

const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
]

/** How long ago a moment was, or how far ahead it is, such as `3 hours ago`. */
export function ago(time: Timestamp): string {
  const difference = timestampDate(time).getTime() - Date.now()
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
