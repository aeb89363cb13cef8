const units = { d: 86_400_000, h: 3_600_000, m: 60_000 }

/** Returns a duration as the options accept it: in the largest unit of which it is a whole number. */
export function durationText(ms: number): string {
  const [unit, size] = Object.entries(units).find(([, size]) => ms % size === 0) ?? ["s", 1_000]
  return `${ms / size}${unit}`
}
