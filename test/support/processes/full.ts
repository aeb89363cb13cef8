import { expect } from "@jest/globals"
import { withHeldRow } from "../databases/held-row.js"
import type { Authwire } from "./authwire.js"

/**
 * Runs `work` while two writes are blocked in the database. With `--max-active-calls=2` every other write is rejected.
 */
export function whileFull(authwire: Authwire, work: () => Promise<void>): Promise<void> {
  return withHeldRow(authwire, async (row) => {
    const held = row.requests
      .slice(0, 2)
      .map((request) => authwire.client.users.updateUser(request, { timeoutMs: 30_000 }))
    await row.waiting(2)
    await work()
    await row.release()
    for (const { user } of await Promise.all(held)) expect(user?.name).toBe("x")
  })
}
