import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises"
import {
  type Schedule,
  type Simulated,
  type Step,
  simulatedDatabase,
  type Unit,
} from "@authwire/test-support/databases/simulated-database.js"
import { expect, test } from "@jest/globals"
import fc from "fast-check"
import type { Waiter } from "../../store.js"
import type { SqlEngine } from "../engine/engine.js"
import type { Cell, Change } from "../query/statement.js"
import type { Failure, StatementError } from "../query/statement-error.js"
import type { GroupTransaction } from "./group-commit.js"
import { backoff } from "./retry.js"
import { type UnitsOfWork, unitsOfWork } from "./unit-of-work.js"

// Runs random units of work against a simulated database in random order, and compares the outcome with what each unit alone would do.

const rows = [..."abcdefghijklmnopqrstuvwxyz"]

const step: fc.Arbitrary<Step> = fc.record({
  row: fc.constantFrom(...rows),
  kind: fc.constantFrom("read", "write", "change", "change", "atCommit"),
  failure: fc.oneof(
    { weight: 8, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom<Failure[]>("duplicate", "conflict", "locked", "unavailable") },
  ),
})

const unit: fc.Arbitrary<Unit> = fc.record({
  isOfService: fc.nat(4).map((n) => n === 0),
  // One that is only a change may be a statement that is committed by itself.
  steps: fc.oneof(fc.array(step, { minLength: 1, maxLength: 3 }), fc.array(step, { minLength: 1, maxLength: 1 })),
  namesLate: fc.boolean(),
  isRepeatable: fc.boolean(),
  throws: fc.nat(9).map((n) => n === 0),
  leavesAt: fc.option(fc.nat(60), { freq: 4, nil: undefined }),
  beginsAt: fc.oneof(fc.nat(4), fc.nat(60)),
})

const schedule: fc.Arbitrary<Schedule> = fc.record({
  units: fc.array(unit, { minLength: 4, maxLength: 16 }),
  order: fc.array(fc.nat(40), { minLength: 20, maxLength: 60 }),
  commits: fc.array(fc.option(fc.constantFrom<Failure[]>("conflict", "unavailable"), { freq: 4, nil: undefined }), {
    maxLength: 4,
  }),
  opens: fc.array(fc.option(fc.constant<Failure>("unavailable"), { freq: 9, nil: undefined }), { maxLength: 5 }),
  connections: fc.integer({ min: 1, max: 4 }),
  hasOtherMembers: fc.boolean(),
})

const changeOf = (cells: Cell[]): Change => ({
  ...{ kind: "change", sql: "change", cells, rank: 0, mustMatch: false, isIdempotent: false },
  sqlOf: () => "change",
})

class Thrown extends Error {}

function runUnit(units: UnitsOfWork, one: Unit, id: number, signal: AbortSignal | undefined) {
  const { isOfService, steps, namesLate, isRepeatable, throws } = one
  const names = (some: readonly Step[]) => some.map(({ row }) => row)
  let attempts = 0
  const work = async (transaction: GroupTransaction) => {
    const number = attempts++
    for (const [index, { kind }] of steps.entries()) {
      // Further rows can be named as long as nothing is written.
      if (namesLate && index < 2 && steps[0]?.kind === "read")
        await transaction.lock(names(steps.slice(index, index === 0 ? 1 : undefined)))
      const cells = [id, number, index]
      if (kind === "read") await transaction.read({ sql: "read", cells: () => cells }, undefined)
      else if (kind === "write") await transaction.write({ sql: "write", cells: () => cells }, undefined)
      else if (kind === "change") await transaction.change([changeOf(cells)])
      else await transaction.changeAtCommit(changeOf(cells))
    }
    if (throws) throw new Thrown("the work failed")
  }
  const waiter = isOfService ? { signal } : { tenant: "t", signal }
  return units.write(waiter, namesLate && steps[0]?.kind === "read" ? [] : names(steps), work, isRepeatable)
}

/** Runs the schedule. Returns the outcome of each unit. */
async function play(plan: Schedule, { statements, connect }: Simulated) {
  const engine = {
    connect,
    ...{ engine: "mysql", concurrency: plan.connections, begin: "BEGIN", locksRows: true },
    hasOtherMembers: plan.hasOtherMembers,
    lookups: { limit: 3, ahead: 1 },
  } as unknown as SqlEngine
  const units = unitsOfWork(engine, { queueLimit: 1000, backoff: backoff({ random: () => 0 }) })
  const outcomes: unknown[] = []
  const leaving = plan.units.map(({ leavesAt }) => (leavesAt === undefined ? undefined : new AbortController()))
  let answered = 0
  let begun = 0
  let idle = 0
  for (let event = 0; answered < plan.units.length || units.load().active > 0; event++) {
    for (const [id, one] of plan.units.entries()) {
      if (one.leavesAt === event) leaving[id]?.abort(new Thrown("gone"))
      if (one.beginsAt !== event) continue
      begun++
      runUnit(units, one, id, leaving[id]?.signal)
        .then(
          () => "ok",
          (error) => error,
        )
        .then((outcome) => {
          outcomes[id] = outcome
          answered++
        })
    }
    await nextTurn()
    const choice = plan.order[event % plan.order.length] as number
    if (statements.length > 0) idle = 0
    if (choice === 0 || (statements.length === 0 && begun === plan.units.length)) {
      // Longer than the delay of a retry, and than work waits before another transaction begins.
      await delay(6)
      if (++idle > 50) break
    } else statements.splice(choice % statements.length, 1)[0]?.()
  }
  return { outcomes, load: units.load(), units }
}

/** Begins a transaction that others may join. It never ends. */
function begin(units: UnitsOfWork): void {
  const never = { sql: "read", cells: () => [] }
  units.write({ tenant: "t" } as Waiter, [], async (transaction) => {
    await transaction.read(never, undefined)
    await new Promise(() => {})
  })
}

const isDuplicate = ({ steps }: Unit) => steps.some(({ failure }) => failure === "duplicate")

/** What the unit wrote in the order of its attempts, without reads. */
const writesOf = ({ steps }: Unit) => steps.flatMap(({ kind }, index) => (kind === "read" ? [] : [index]))

test("random schedules: no two units of one row at once, all or nothing, and everybody is answered", async () => {
  let played = 0
  let sharing = 0
  await fc.assert(
    fc.asyncProperty(schedule, async (plan) => {
      const database = simulatedDatabase(plan)
      const { outcomes, load, units } = await play(plan, database)
      expect(database.violations).toEqual([])
      expect(outcomes.filter((one) => one !== undefined)).toHaveLength(plan.units.length)
      expect(load).toMatchObject({ active: 0, waiting: 0, waitingForRows: 0 })
      for (const [id, one] of plan.units.entries()) {
        const outcome = outcomes[id] as Error | "ok"
        const written = database.stored.filter(([unit]) => unit === id)
        const steps = written.map(([, , index]) => index)
        const attempts = Map.groupBy(written, ([, attempt]) => attempt)
        const mayBeDoneTwice = one.isRepeatable && plan.hasOtherMembers
        if (!mayBeDoneTwice) expect(attempts.size).toBeLessThanOrEqual(1)
        // All of an attempt, or nothing.
        for (const all of attempts.values()) expect(all.map(([, , index]) => index).sort()).toEqual(writesOf(one))
        if (outcome === "ok") expect(new Set(steps)).toEqual(new Set(writesOf(one)))
        // It fails only for a reason of its own, or because something that is committed had no answer. Without other members it also
        // fails because the database cannot be reached.
        const isLost = (failures: readonly (Failure | undefined)[]) => failures.includes("unavailable")
        const failures = one.steps.map(({ failure }) => failure)
        const isLone = one.steps.length === 1 && writesOf(one).length === 1
        const isUnanswered = isLost(plan.commits) || (isLone && isLost(failures))
        const isUnreachable = !plan.hasOtherMembers && isLost([...plan.opens, ...failures])
        const mayFail =
          one.throws ||
          isDuplicate(one) ||
          one.leavesAt !== undefined ||
          (isUnanswered && !mayBeDoneTwice) ||
          isUnreachable
        if (!mayFail) expect(outcome).toBe("ok")
        if (outcome === "ok") expect(one.throws || isDuplicate(one)).toBe(false)
        const isKnown =
          outcome === "ok" || outcome instanceof Thrown || (outcome as StatementError).failure === "duplicate"
        if (outcome !== "ok" && isKnown && one.leavesAt === undefined) expect(written).toEqual([])
      }
      played++
      if (database.shared() > 0) sharing++
      // The next transaction begins at once.
      database.end()
      begin(units)
      await nextTurn()
      expect(units.load()).toMatchObject({ active: 1, waiting: 0 })
      // All rows are free again: the next unit waits for none of them.
      units.write({}, rows, (transaction) => transaction.read({ sql: "read", cells: () => [] }, undefined))
      await nextTurn()
      expect(units.load().waitingForRows).toBe(0)
    }),
    { numRuns: 300, endOnFailure: true, interruptAfterTimeLimit: 60_000 },
  )
  // Otherwise it would show little. Two schedules of five share a transaction: most others have something that rolls it back.
  expect(sharing / played).toBeGreaterThan(1 / 20)
}, 120_000)
