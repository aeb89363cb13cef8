import { StoreError } from "../errors/store-error.js"
import { type Database, tenantStore, unfinishedSignUps } from "../store/sql/index.js"
import type { Diagnosis } from "./finding.js"

const days = 7
/** How many users of a tenant are listed. */
const shown = 5

/**
 * Reports users of the last days whose sign-up was not completed, so that no sign-in as them is possible. Requires the
 * tables of this version.
 */
export async function diagnoseSignUps(database: Database, now: number): Promise<Diagnosis> {
  const what = "sign-ups"
  const found: string[] = []
  const since = new Date(now - days * 86_400_000)
  try {
    for (const { name: tenant } of await tenantStore(database).list({})) {
      const users = await unfinishedSignUps(database, { tenant, since, limit: shown + 1 })
      const ids = users.slice(0, shown).map(({ id }) => id)
      if (users.length > shown) ids.push("and more")
      if (ids.length > 0) found.push(`tenant ${tenant}: ${ids.join(", ")}`)
    }
  } catch (error) {
    if (!(error instanceof StoreError && error.reason === "STATEMENT_TIMEOUT")) throw error
    return { state: "warning", what, detail: "there are too many users to check within the statement timeout" }
  }
  if (found.length === 0) return { state: "ok", what, detail: `none of the last ${days} days was interrupted` }
  const advice =
    "no account, session, passkey or verified address. Unless your application created them, their sign-ups were interrupted," +
    " and their e-mail addresses stay taken: delete them with UserService.DeleteUser, and see --provisional-sign-up"
  return { state: "warning", what, detail: `users of ${found.join("; ")} have ${advice}` }
}
