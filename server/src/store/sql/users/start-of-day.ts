const day = 86_400_000

/** Returns the beginning of the UTC day of a time. */
export function startOfDay(time: Date): Date {
  return new Date(Math.floor(time.getTime() / day) * day)
}
