const units = { d: 86_400, h: 3_600, m: 60, s: 1 } as const

/** Returns the seconds that a text such as `90d`, `12h` or `1d 12h` names; undefined if it is none, and null if it is empty. */
export function secondsOf(text: string): number | null | undefined {
  const parts = text.trim().split(/\s+/)
  if (parts.length === 1 && parts[0] === "") return null
  let seconds = 0
  for (const part of parts) {
    const [, count, unit] = /^(\d{1,10})([dhms])$/.exec(part) ?? []
    if (unit === undefined) return undefined
    seconds += Number(count) * units[unit as keyof typeof units]
  }
  return seconds
}

/** Returns seconds as `secondsOf` reads them. */
export function durationText(seconds: number): string {
  const parts: string[] = []
  let rest = seconds
  for (const [unit, size] of Object.entries(units)) {
    const count = Math.floor(rest / size)
    if (count > 0) parts.push(`${count}${unit}`)
    rest -= count * size
  }
  return parts.length === 0 ? "0s" : parts.join(" ")
}
