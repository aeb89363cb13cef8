import type { Connection } from "../../../server/src/store/sql/engine/engine.js"
import type { Cell } from "../../../server/src/store/sql/query/statement.js"
import { type Failure, StatementError } from "../../../server/src/store/sql/query/statement-error.js"

/** A statement that reads or writes one row. */
export interface Step {
  readonly row: string
  /** `atCommit`: written together with a row that a statement writes. */
  readonly kind: "read" | "write" | "change" | "atCommit"
  /** The failure of the statement: "duplicate" each time, the others once. */
  readonly failure: Failure | undefined
}

export interface Unit {
  /** Whether it is work of the service itself, which shares no transaction. */
  readonly isOfService: boolean
  readonly steps: readonly Step[]
  /** Whether the first step names its row before the others do. */
  readonly namesLate: boolean
  /** Whether it may be done twice. */
  readonly isRepeatable: boolean
  /** Whether the work fails after its last step. */
  readonly throws: boolean
  /** After how many events of the schedule the caller gives up. */
  readonly leavesAt: number | undefined
  /** After how many events it begins. */
  readonly beginsAt: number
}

export interface Schedule {
  readonly units: readonly Unit[]
  /** Which of the statements that run is answered next; 0: time passes. */
  readonly order: readonly number[]
  /** The failures of the COMMITs, in their order. */
  readonly commits: readonly (Failure | undefined)[]
  /** The failures to open a connection, in their order. */
  readonly opens: readonly (Failure | undefined)[]
  readonly connections: number
  /** Whether another member of a cluster may do what this one cannot. */
  readonly hasOtherMembers: boolean
}

export type Simulated = ReturnType<typeof simulatedDatabase>

/** What the database stores: who wrote it, in which attempt, by which step. */
type Written = readonly [unit: number, attempt: number, step: number]

/** A database with row locks. A unit that meets the lock of another one fails the test, because the units must not let that happen. */
export function simulatedDatabase({ units, commits, opens }: Schedule) {
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
            // Whether a statement without an answer was done is unknown if it is committed by itself.
            const isDone = transaction === undefined && one.failure === "unavailable" && unit % 2 === 0
            if (isDone && sql !== "read") stored.push([unit, attempt, index])
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
