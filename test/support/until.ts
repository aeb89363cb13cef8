import { setTimeout as delay } from "node:timers/promises"

/**
 * Waits until something is so, and asks again and again: for what nothing announces. Throws after 20 seconds, or the
 * time given, which only ends a test that would hang.
 */
export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 20_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`still not so: ${condition}`)
    await delay(5)
  }
}
