import { encryptionKeys } from "../../bootstrap/database.js"
import { withDevSecret } from "../../bootstrap/dev-folder.js"
import type { Configuration } from "../../config/configuration.js"
import { StartError } from "../../errors/start-error.js"
import type { Check } from "../../import/check.js"
import { copy } from "../../import/copy.js"
import { refusedDeletion } from "../../import/deletions.js"
import type { ImportSource } from "../../import/item.js"
import { type PolicyDifference, policyDifference } from "../../import/session-policy.js"
import { bulk, bulkNames, type Database, holders } from "../../store/sql/index.js"
import { checkReport, differencesReport, policyReport } from "./import-report.js"
import { bulkTimeoutMs, checkImportSource, openImportSource } from "./import-source.js"
import type { CommandOutput } from "./output.js"
import { withProgress } from "./progress.js"
import { requireReadableTexts, requireTenant, withDatabase, withStartError } from "./with-database.js"

/**
 * `authwire import`: reads the data that an adapter has written and reports on it. With `--apply` it makes the tenant's
 * data the same and compares every row. Throws ConfigurationError and StartError.
 *
 * @returns The exit code: 1 if errors keep rows from being imported, or if the comparison finds a difference. Rows that only
 * the tenant has are one only with `--delete`.
 */
export async function importPeer(configuration: Configuration<"import">, output: CommandOutput): Promise<number> {
  const readOnly = !configuration.apply
  const complete = { ...withDevSecret(configuration), databaseStatementTimeoutMs: bulkTimeoutMs, readOnly }
  return withDatabase(
    complete,
    async (opened, log) => {
      const database = await requireTenant(opened, complete.tenant)
      await requireReadableTexts(database)
      const source = await openImportSource(complete, log)
      try {
        requireWhole(source, complete)
        return await importFrom(source, database, complete, output)
      } finally {
        await source.close()
      }
    },
    { what: "import" },
  )
}

/** Throws StartError if rows are to be deleted for a source that may not show every row. */
function requireWhole({ doubts = [] }: ImportSource, configuration: Configuration<"import">) {
  if (!configuration.delete || configuration.deleteAll !== undefined || doubts.length === 0) return
  throw new StartError(
    `--delete: ${doubts.join("; ")}: name a source that shows every row, or add --delete-all ${configuration.tenant}`,
  )
}

async function importFrom(
  source: ImportSource,
  database: Database,
  configuration: Configuration<"import">,
  output: CommandOutput,
): Promise<number> {
  const { print, say } = output
  const { check, rows, total } = await checkImportSource(source, configuration.report, {
    target: { holders: holders(database, configuration.tenant), deletes: configuration.delete },
  })
  try {
    const policy = await policyDifference(source, { database, tenant: configuration.tenant })
    print(checkReport(source, check, rows))
    if (policy !== undefined) print(policyReport(policy))
    const { errors } = check.findings
    if (errors > 0 && !configuration.skip) {
      const [faulty, them] = errors === 1 ? ["1 row has an error", "it"] : [`${errors} rows have errors`, "them"]
      say(`${faulty}: correct ${them} in the source, or skip ${them} with --skip; nothing was written\n`)
      return 1
    }
    const parts = { source, database, check, total, policy }
    if (!configuration.apply) await preview(parts, configuration, output)
    const { tenant } = configuration
    if (configuration.delete && configuration.deleteAll === undefined) {
      const refusal = refusedDeletion(await copying(parts, configuration).work.surplus(), rows)
      if (refusal !== undefined) {
        say(`${refusal}: if the source shows all that it has, add --delete-all ${tenant}; nothing was written\n`)
        return 1
      }
    }
    if (!configuration.apply) {
      say("dry run: nothing was written; use --apply to write\n")
      return 0
    }
    return await withStartError(
      "import",
      () => write(parts, configuration, output),
      "; rows that were written are kept, and the command can be run again",
    )
  } finally {
    check.close()
  }
}

interface Parts {
  source: ImportSource
  database: Database
  check: Check
  total: number
  policy: PolicyDifference | undefined
}

/** Returns the copy, and a function that runs a part of it with a progress bar. */
function copying({ total, ...parts }: Parts, configuration: Configuration<"import">) {
  const { tenant, delete: deletes } = configuration
  let advance = (_count: number) => {}
  const work = copy(parts, {
    tenant,
    deletes,
    encryptionKeys: encryptionKeys(configuration),
    onRows: (count) => advance(count),
  })
  const phase = <T>(title: string, run: () => Promise<T>) =>
    withProgress(title, total, (one) => {
      advance = one
      return run()
    })
  return { work, phase }
}

/** Prints what a run would change in a tenant that has rows already. */
async function preview(parts: Parts, configuration: Configuration<"import">, { print }: CommandOutput): Promise<void> {
  const { tenant, delete: deletes } = configuration
  const target = bulk(parts.database, { tenant, encryptionKeys: encryptionKeys(configuration) })
  const counts = await Promise.all(bulkNames.map((name) => target[name].count()))
  if (counts.every((count) => count === 0)) return
  const { work, phase } = copying(parts, configuration)
  const found = await phase("comparing", work.compare)
  print(`\n${differencesReport(found, ["to add", "to change", deletes ? "to delete" : "only in Authwire"])}`)
}

async function write(
  parts: Parts,
  configuration: Configuration<"import">,
  { print, say }: CommandOutput,
): Promise<number> {
  const { work, phase } = copying(parts, configuration)
  const { delete: deletes } = configuration
  try {
    // First, so that the sessions are never without it.
    await parts.policy?.write()
    await phase("writing  ", work.write)
  } finally {
    // Also if the copy failed.
    print(`\n${differencesReport(work.written, ["added", "changed", "deleted"])}`)
  }
  const found = await phase("comparing", work.compare)
  const all = Object.values(found)
  const differ = all.some(({ missing, changed }) => missing + changed !== 0)
  const more = all.reduce((sum, { surplus }) => sum + surplus, 0)
  if (!differ && more === 0) {
    say(`every row was compared: source and target are equal${exceptSkipped(parts.check)}\n`)
    return 0
  }
  print(`\n${differencesReport(found, ["missing", "different", "only in Authwire"])}`)
  if (differ) say("source and target differ: run the command again if the source has changed meanwhile\n")
  else say(`every row of the source was compared, and is in the target${exceptSkipped(parts.check)}\n`)
  if (more > 0) {
    say(
      `the tenant has rows that the source does not have (${more}): they stay. --delete deletes them, and with them users who signed up in Authwire\n`,
    )
  }
  return differ || (more > 0 && deletes) ? 1 : 0
}

function exceptSkipped({ skipped }: Check): string {
  const count = Object.values(skipped).reduce((sum, one) => sum + one, 0)
  if (count === 0) return ""
  return count === 1
    ? ", except for 1 row of the source that was skipped"
    : `, except for ${count} rows of the source that were skipped`
}
