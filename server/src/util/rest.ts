/** The longest rest, in milliseconds. Work that took much longer than a statement may was probably held up, not slow. */
const maxRestMs = 5_000

/**
 * Returns how long background work rests, in milliseconds, so that calls have the database for most of the time: a
 * multiple of the time that it took, up to a limit.
 *
 * @param begun When the work began, by `performance.now()`.
 */
export function restMs(begun: number, factor: number, mostMs = maxRestMs): number {
  return Math.min((performance.now() - begun) * factor, mostMs)
}
