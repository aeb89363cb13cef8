import { expect, test } from "@jest/globals"
import type { Waiter } from "../../store.js"
import { StatementError } from "../query/statement-error.js"
import { type BackoffOptions, backoff } from "./retry.js"

/** Runs work that conflicts so often. Returns how often it has run. */
async function triesOf(conflicts: number, options: Partial<BackoffOptions>, waiter: Waiter = {}): Promise<number> {
  let runs = 0
  const work = async () => {
    if (runs++ < conflicts) throw new StatementError("conflict", "planted")
  }
  await backoff({ random: () => 0, ...options })(waiter, work).catch(() => {})
  return runs
}

test("on one server a conflict is tried 10 times, and where other members accept writes until the caller's deadline", async () => {
  const { signal } = new AbortController()
  expect(await triesOf(30, {}, { signal })).toBe(10)
  expect(await triesOf(30, { hasOtherWriters: true }, { signal })).toBe(31)
  // A call without a deadline does not try for ever.
  expect(await triesOf(30, { hasOtherWriters: true })).toBe(31)
  expect(await triesOf(30, { hasOtherWriters: true, longestWaitMs: 0 })).toBe(10)
})
