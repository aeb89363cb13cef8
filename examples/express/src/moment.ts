/** Formats a time of a message, such as `2030-01-31 12:34 UTC`. */
export function moment(time: { seconds: bigint } | undefined, absent = "unknown"): string {
  if (time === undefined) return absent
  return `${new Date(Number(time.seconds) * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`
}
