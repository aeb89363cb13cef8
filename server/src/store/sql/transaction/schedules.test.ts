import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises"
import { expect, test } from "@jest/globals"
import fc from "fast-check"
import type { Connection, SqlEngine } from "../engine/engine.js"
import type { Cell, Change } from "../query/statement.js"
import { type Failure, StatementError } from "../query/statement-error.js"
import { commitTogether } from "./group-commit.js"
import { backoff } from "./retry.js"
import { unitsOfWork } from "./unit-of-work.js"

// Runs random units of work against a simulated database in random order, and compares the outcome with what each unit alone would do.

const rows = [..."abcdefghijklmnopqrstuvwxyz"]

/** A statement that reads or writes one row. */
interface Step {
  readonly row: string
  /** `atCommit`: written together with a row that a statement writes. */
  readonly kind: "read" | "write" | "change" | "atCommit"
  /** The failure of the statement: "duplicate" each time, the others once. */
  readonly failure: Failure | undefined
}

interface Unit {
  /** `alone`: each step is committed by itself. `transaction`: all of them are. `together`: they are in a transaction that may be shared. */
  readonly form: "alone" | "transaction" | "together"
  readonly steps: readonly Step[]
  /** Whether the first step names its row before the others do. */
  readonly namesLate: boolean
  readonly isLong: boolean
  /** Whether the work fails after its last step. */
  readonly throws: boolean
  /** After how many events of the schedule the caller gives up. */
  readonly leavesAt: number | undefined
  /** After how many events it begins. */
  readonly beginsAt: number
}

interface Schedule {
  readonly units: readonly Unit[]
  /** Which of the statements that run is answered next; 0: time passes. */
  readonly order: readonly number[]
  /** The failures of the COMMITs, in their order. */
  readonly commits: readonly (Failure | undefined)[]
  /** The failures to open a connection, in their order. */
  readonly opens: readonly (Failure | undefined)[]
  readonly connections: number
}

const step: fc.Arbitrary<Step> = fc.record({
  row: fc.constantFrom(...rows),
  kind: fc.constantFrom("read", "write", "change", "change", "atCommit"),
  failure: fc.oneof(
    { weight: 16, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom<Failure[]>("duplicate", "conflict", "locked", "unavailable") },
  ),
})

const unit: fc.Arbitrary<Unit> = fc.record({
  form: fc.constantFrom("alone", "transaction", "together", "together", "together"),
  steps: fc.array(step, { minLength: 1, maxLength: 3 }),
  namesLate: fc.boolean(),
  isLong: fc.nat(4).map((n) => n === 0),
  throws: fc.nat(9).map((n) => n === 0),
  leavesAt: fc.option(fc.nat(60), { freq: 4, nil: undefined }),
  beginsAt: fc.nat(4),
})

const schedule: fc.Arbitrary<Schedule> = fc.record({
  units: fc.array(unit, { minLength: 4, maxLength: 16 }),
  order: fc.array(fc.nat(40), { minLength: 20, maxLength: 60 }),
  commits: fc.array(fc.option(fc.constantFrom<Failure[]>("conflict", "unavailable"), { freq: 4, nil: undefined }), {
    maxLength: 4,
  }),
  opens: fc.array(fc.option(fc.constant<Failure>("unavailable"), { freq: 9, nil: undefined }), { maxLength: 5 }),
  connections: fc.integer({ min: 1, max: 4 }),
})

/** What the database stores: who wrote it, in which attempt, by which step. */
type Written = readonly [unit: number, attempt: number, step: number]

/** A database with row locks. A unit that meets the lock of another one fails the test, because the units must not let that happen. */
function simulatedDatabase({ units, commits, opens }: Schedule) {
  const statements: (() => void)[] = []
  const stored: Written[] = []
  const violations: string[] = []
  const locks = new Map<string, { transaction: object; unit: number }>()
  const failed = new Set<Step>()
  let committed = 0
  let opened = 0
  let shared = 0
  let isOver = false

  function connect(): Connection {
    let transaction: { written: Written[] } | undefined
    let isLost = false
    const failure = isOver ? undefined : opens[opened++]
    if (failure !== undefined) throw new StatementError(failure, failure)
    const end = () => {
      for (const [row, lock] of locks) if (lock.transaction === transaction) locks.delete(row)
      transaction = undefined
    }
    const fail = (failure: Failure) => {
      if (failure === "unavailable") {
        isLost = true
        end()
      }
      throw new StatementError(failure, failure)
    }
    const commit = () => {
      if (new Set(transaction?.written.map(([unit]) => unit)).size > 1) shared++
      const failure = commits[committed++]
      // Whether a lost COMMIT was done is unknown.
      if (failure !== "conflict" && (failure === undefined || committed % 2 === 0))
        stored.push(...(transaction?.written ?? []))
      if (failure === "conflict") end()
      if (failure !== undefined) fail(failure)
      end()
    }
    const execute = (sql: string, cells: readonly Cell[]) => {
      if (isLost) fail("unavailable")
      if (sql === "BEGIN") transaction = { written: [] }
      else if (sql === "COMMIT") commit()
      else if (sql === "ROLLBACK") end()
      else {
        const context = transaction ?? { written: [] }
        for (let at = 0; at < cells.length; at += 3) {
          const [unit, attempt, index] = cells.slice(at, at + 3) as [number, number, number]
          const one = units[unit]?.steps[index] as Step
          const lock = locks.get(one.row)
          if (lock !== undefined && lock.unit !== unit) violations.push(`${unit} meets ${lock.unit} in ${one.row}`)
          if (transaction !== undefined) locks.set(one.row, { transaction, unit })
          if (one.failure !== undefined && !failed.has(one)) {
            if (one.failure !== "duplicate") failed.add(one)
            fail(one.failure)
          }
          if (sql !== "read") context.written.push([unit, attempt, index])
        }
        if (transaction === undefined) stored.push(...context.written)
      }
      return { rows: [], matched: cells.length / 3 }
    }
    return {
      reused: false,
      release: end,
      discard: end,
      run: (sql, cells = []) =>
        new Promise((resolve, reject) => {
          statements.push(() => {
            try {
              resolve(execute(sql, cells))
            } catch (error) {
              reject(error)
            }
          })
        }),
    }
  }
  /** Ends all failures. */
  const end = () => {
    isOver = true
  }
  return { statements, stored, violations, connect: async () => connect(), end, shared: () => shared }
}

const changeOf = (cells: Cell[]): Change => ({
  ...{ kind: "change", sql: "change", cells, rank: 0, mustMatch: false, isIdempotent: false },
  sqlOf: () => "change",
})

class Thrown extends Error {}

type Simulated = ReturnType<typeof simulatedDatabase>

function runUnit(
  units: ReturnType<typeof unitsOfWork>,
  { form, ...spec }: Unit,
  id: number,
  signal: AbortSignal | undefined,
) {
  const { steps, namesLate, isLong, throws } = spec
  const names = steps.map(({ row }) => row)
  let attempts = 0
  const end = () => {
    if (throws) throw new Thrown("the work failed")
  }
  if (form === "together") {
    return units.run({ purpose: "write", signal }, (attempt) =>
      commitTogether(attempt, [], async (transaction) => {
        const number = attempts++
        const runs = (some: readonly Step[], at: number) =>
          transaction.run(
            some === steps ? names : some.map(({ row }) => row),
            async (sql) => {
              for (const [index, { kind }] of some.entries()) {
                const cells = [id, number, at + index]
                if (kind === "read") await sql.read({ sql: "read", cells: () => cells }, undefined)
                else if (kind === "write") await sql.write({ sql: "write", cells: () => cells }, undefined)
                else if (kind === "change") await sql.change([changeOf(cells)])
                else await transaction.changeAtCommit(changeOf(cells))
              }
            },
            { isLong },
          )
        // Further rows can be named as long as nothing is written.
        if (namesLate && steps[0]?.kind === "read") {
          await runs(steps.slice(0, 1), 0)
          await runs(steps.slice(1), 1)
        } else await runs(steps, 0)
        end()
      }),
    )
  }
  return units.run({ purpose: "write", rows: names, signal }, async (attempt) => {
    const statement = (
      connection: { run(sql: string, cells: Cell[]): Promise<unknown> },
      index: number,
      number: number,
    ) => connection.run(steps[index]?.kind === "read" ? "read" : "write", [id, number, index])
    if (form === "alone") {
      for (const index of steps.keys()) {
        await attempt(async (access) => statement(await access.connection(), index, 0))
      }
    } else {
      await attempt(async (access) => {
        const number = attempts++
        const connection = await access.connection()
        await connection.begin(signal)
        try {
          for (const index of steps.keys()) await statement(connection, index, number)
          end()
          await connection.commit()
        } catch (error) {
          await connection.rollBack()
          throw error
        }
      })
    }
    end()
  })
}

/** Runs the schedule. Returns the outcome of each unit. */
async function play(plan: Schedule, { statements, connect }: Simulated) {
  const engine = {
    connect,
    ...{ engine: "mysql", concurrency: plan.connections, begin: "BEGIN", locksRows: true, hasOtherMembers: false },
    lookups: { limit: 3, ahead: 1 },
  } as unknown as SqlEngine
  const units = unitsOfWork(engine, { queueLimit: 1000, backoff: backoff({ random: () => 0, limit: 1000 }) })
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
function commitTogetherAlone(units: ReturnType<typeof unitsOfWork>): void {
  units.run({ purpose: "write" }, (attempt) =>
    commitTogether(attempt, [], (transaction) => transaction.run([], () => new Promise(() => {}))),
  )
}

const isDuplicate = ({ steps }: Unit) => steps.some(({ failure }) => failure === "duplicate")

/** What the unit wrote in the order of its attempts, without reads. */
const writesOf = ({ steps }: Unit) => steps.flatMap(({ kind }, index) => (kind === "read" ? [] : [index]))

test("random schedules: no two units of one row at once, all or nothing, and everybody is answered", async () => {
  let shared = 0
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
        const steps = written.map(([, , index]) => index).sort()
        if (one.form !== "alone") {
          // All of one attempt, or nothing.
          expect(new Set(written.map(([, attempt]) => attempt)).size).toBeLessThanOrEqual(1)
          if (written.length > 0) expect(steps).toEqual(writesOf(one))
        }
        if (outcome === "ok") expect(steps).toEqual(writesOf(one))
        // A unit for itself: it fails only for a reason of its own, or because a COMMIT had no answer.
        const mayFail =
          one.throws ||
          isDuplicate(one) ||
          one.leavesAt !== undefined ||
          [...plan.commits, ...plan.opens].includes("unavailable")
        if (!mayFail && !one.steps.some(({ failure }) => failure === "unavailable")) expect(outcome).toBe("ok")
        if (outcome === "ok") expect(one.throws || isDuplicate(one)).toBe(false)
        const isKnown =
          outcome === "ok" || outcome instanceof Thrown || (outcome as StatementError).failure === "duplicate"
        if (outcome !== "ok" && isKnown && one.form !== "alone" && one.leavesAt === undefined)
          expect(written).toEqual([])
      }
      shared += database.shared()
      // The next transaction begins at once.
      database.end()
      commitTogetherAlone(units)
      await nextTurn()
      expect(units.load()).toMatchObject({ active: 1, waiting: 0 })
      // All rows are free again.
      const last = units.run({ purpose: "write", rows }, async () => "free")
      expect(await Promise.race([last, delay(1_000, "locked", { ref: false })])).toBe("free")
    }),
    { numRuns: 300, interruptAfterTimeLimit: 60_000 },
  )
  // Otherwise it would show little.
  expect(shared).toBeGreaterThan(100)
}, 120_000)
