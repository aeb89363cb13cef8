import { randomUUID } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import { type DataSource, QueryFailedError, type QueryRunner } from "typeorm"
import { type Failure, StatementError } from "../../query/statement-error.js"
import { statementError } from "./mysql-errors.js"

const table = "authwire_schema_lock"

/** How often the holder increments its heartbeat and how often waiting processes check it, in milliseconds. */
const beatEveryMs = 1000
const lookEveryMs = 500
/**
 * After this many checks without a new heartbeat the holder has ended. Checks are counted instead of time, because a
 * change of tables may block the whole cluster, and then neither the holder nor the waiting processes make progress.
 */
const maxSilentLooks = 20

/**
 * Runs work while no other process in the cluster does so, on any member. The process that has inserted the row of a
 * table has the lock. Throws StatementError "conflict" if another process holds it for longer than `maxWaitSeconds`.
 */
export async function withClusterLock<T>(
  dataSource: DataSource,
  runner: QueryRunner,
  maxWaitSeconds: number,
  work: (runner: QueryRunner) => Promise<T>,
): Promise<T> {
  const holder = randomUUID()
  await tolerating(["conflict", "locked"], () =>
    runner.query(
      `CREATE TABLE IF NOT EXISTS ${table} (id TINYINT PRIMARY KEY, holder CHAR(36) NOT NULL, beat BIGINT NOT NULL)`,
    ),
  )
  await take(runner, holder, maxWaitSeconds)
  // The heartbeat uses another connection, because a change of tables may take long and occupies this one.
  const beat = setInterval(() => {
    dataSource.query(`UPDATE ${table} SET beat = beat + 1 WHERE holder = ?`, [holder]).catch(() => {})
  }, beatEveryMs)
  try {
    return await work(runner)
  } finally {
    clearInterval(beat)
    // If this fails, waiting processes notice the missing heartbeat.
    await runner.query(`DELETE FROM ${table} WHERE holder = ?`, [holder]).catch(() => {})
  }
}

async function take(runner: QueryRunner, holder: string, maxWaitSeconds: number): Promise<void> {
  const begun = performance.now()
  let seen: string | undefined
  let looks = 0
  for (;;) {
    const isTaken = await tolerating(["duplicate", "conflict", "locked"], () =>
      runner.query(`INSERT INTO ${table} (id, holder, beat) VALUES (1, ?, 0)`, [holder]),
    )
    if (isTaken) return
    if (performance.now() - begun > maxWaitSeconds * 1000) {
      throw new StatementError("conflict", "another process is changing the tables")
    }
    await delay(lookEveryMs)
    const [row] = await runner.query(`SELECT CONCAT(holder, ' ', beat) AS beat FROM ${table}`)
    looks = row?.beat === seen ? looks + 1 : 0
    seen = row?.beat
    if (seen === undefined || looks < maxSilentLooks) continue
    await tolerating(["conflict", "locked"], () =>
      runner.query(`DELETE FROM ${table} WHERE CONCAT(holder, ' ', beat) = ?`, [seen]),
    )
  }
}

/** Returns whether the statement succeeded; false if it failed in one of these ways. */
async function tolerating(failures: readonly Failure[], run: () => Promise<unknown>): Promise<boolean> {
  try {
    await run()
    return true
  } catch (error) {
    const failure = error instanceof QueryFailedError ? statementError(error.driverError).failure : undefined
    if (failure === undefined || !failures.includes(failure)) throw error
    return false
  }
}
