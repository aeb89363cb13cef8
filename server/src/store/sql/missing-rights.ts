import type { SqlEngine } from "./engine/engine.js"
import { failsBy, StatementError } from "./query/statement-error.js"

/** The codes of MySQL, MariaDB and PostgreSQL for a missing right. */
const codes = new Set([
  "ER_TABLEACCESS_DENIED_ERROR",
  "ER_COLUMNACCESS_DENIED_ERROR",
  "ER_DBACCESS_DENIED_ERROR",
  "42501",
])

/** Knows whether the user of the database lacks a right, once a statement has failed by that. */
export interface MissingRights {
  /** Takes a failure into account. */
  saw(error: unknown): void
  /** Throws while a right is missing. Asks the database only after a statement has failed, until none is missing. */
  check(): Promise<void>
}

export function missingRights({ withQueryRunner, dialect }: SqlEngine): MissingRights {
  let code: string | undefined
  return {
    saw(error) {
      if (failsBy(error, "unavailable") && codes.has(error.code ?? "")) code = error.code
    },
    async check() {
      if (code === undefined) return
      const [missing] = await withQueryRunner(dialect.missingRights)
      if (missing !== undefined) throw new StatementError("unavailable", `${missing.right} on ${missing.on}`, code)
      code = undefined
    },
  }
}
