import { setTimeout as delay } from "node:timers/promises"

/**
 * Polls until a condition is true. It is for conditions without a notification. Throws after 20 seconds or the given
 * time, a limit that only prevents a test from hanging.
 */
export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 20_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`still not so: ${condition}`)
    await delay(5)
  }
}
