import { setTimeout as delay } from "node:timers/promises"

/**
 * Polls until a condition is true. It is for conditions without a notification. The pause between two checks is a
 * twentieth of the time so far, and from 5 to 50 ms, because the tests that run beside a long wait need the processor.
 * Throws after 20 seconds or the given time, a limit that only prevents a test from hanging.
 */
export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 20_000): Promise<void> {
  const begun = performance.now()
  while (!(await condition())) {
    const passedMs = performance.now() - begun
    if (passedMs > timeoutMs) throw new Error(`still not so: ${condition}`)
    await delay(Math.min(Math.max(passedMs / 20, 5), 50))
  }
}
