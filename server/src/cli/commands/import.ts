import { encryptionKeys } from "../../bootstrap/database.js"
import { withDevSecret } from "../../bootstrap/dev-folder.js"
import type { Configuration } from "../../config/configuration.js"
import type { Check } from "../../import/check.js"
import { type Checkpoint, type Compared, checkpoint } from "../../import/checkpoint.js"
import { copy } from "../../import/copy.js"
import type { Origin } from "../../import/item.js"
import { bulk, createCipher, type Database } from "../../store/sql/index.js"
import { checkReport, differencesReport, rememberedReport } from "./import-report.js"
import { bulkTimeoutMs, checkOrigin, openOrigin } from "./import-source.js"
import type { CommandOutput } from "./output.js"
import { withProgress } from "./progress.js"
import { requireReadableTexts, requireTenant, withDatabase, withStartError } from "./with-database.js"

/**
 * `authwire import`: reads the data that an adapter has written and reports on it. With `--apply` it makes the tenant's
 * data the same and compares every row. Throws ConfigurationError and StartError.
 *
 * @returns The exit code: 1 if errors keep rows from being imported, or if the comparison finds a difference.
 */
export async function importPeer(configuration: Configuration<"import">, output: CommandOutput): Promise<number> {
  const complete = { ...withDevSecret(configuration), databaseStatementTimeoutMs: bulkTimeoutMs }
  return withDatabase(
    complete,
    async (database, log) => {
      await requireTenant(database, complete.tenant)
      await requireReadableTexts(database)
      const origin = await openOrigin(complete, log)
      try {
        return await importFrom(origin, database, complete, output)
      } finally {
        await origin.close()
      }
    },
    { what: "import" },
  )
}

async function importFrom(
  origin: Origin,
  database: Database,
  configuration: Configuration<"import">,
  output: CommandOutput,
): Promise<number> {
  const { print, say } = output
  const noted = openCheckpoint(configuration, origin, database)
  try {
    const before = await withStartError("--checkpoint", async () => noted?.read())
    const remembered = typeof before === "object" ? before : undefined
    const { check, rows, total } = await checkOrigin(origin, configuration.report, remembered)
    try {
      print(checkReport(origin, check, rows))
      if (before === "stale")
        say("--checkpoint: the file does not match the databases any more, so all rows are compared\n")
      if (remembered !== undefined) say(rememberedReport(check, total))
      const { errors } = check.findings
      if (errors > 0 && !configuration.skip) {
        const [faulty, them] = errors === 1 ? ["1 row has an error", "it"] : [`${errors} rows have errors`, "them"]
        say(`${faulty}: correct ${them} in the source, or skip ${them} with --skip; nothing was written\n`)
        return 1
      }
      if (!configuration.apply) {
        say("dry run: nothing was written; use --apply to write\n")
        return 0
      }
      return await withStartError(
        "import",
        () => write({ origin, database, check, total, noted }, configuration, output),
        "; rows that were written are kept, and the command can be run again",
      )
    } finally {
      check.close()
    }
  } finally {
    noted?.close()
  }
}

interface Written {
  origin: Origin
  database: Database
  check: Check
  total: number
  noted: Checkpoint | undefined
}

async function write(
  { total, noted, ...parts }: Written,
  configuration: Configuration<"import">,
  { print, say }: CommandOutput,
): Promise<number> {
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
  const written = await phase("writing  ", work.write)
  print(`\n${differencesReport(written, ["added", "changed", "deleted"])}`)
  const { found, obstacle } = await phase("comparing", async (): Promise<Compared> => {
    return noted === undefined ? { found: await work.compare() } : noted.write(parts.check, work.compare)
  })
  if (obstacle !== undefined) say(`--checkpoint: nothing was recorded, because ${obstacle}\n`)
  const differ = Object.values(found).some(({ missing, changed, surplus }) => missing + changed + surplus !== 0)
  if (!differ) {
    say(`every row was compared: source and target are equal${exceptSkipped(parts.check)}\n`)
    return 0
  }
  print(`\n${differencesReport(found, ["missing", "different", "only in Authwire"])}`)
  say(
    "source and target differ: run the command again if the source has changed meanwhile; --delete deletes the rows that only Authwire has\n",
  )
  return 1
}

function exceptSkipped({ skipped }: Check): string {
  const count = Object.values(skipped).reduce((sum, one) => sum + one, 0)
  if (count === 0) return ""
  return count === 1
    ? ", except for 1 row of the source that was skipped"
    : `, except for ${count} rows of the source that were skipped`
}

function openCheckpoint(configuration: Configuration<"import">, origin: Origin, database: Database) {
  const { checkpoint: file, tenant } = configuration
  if (file === undefined) return undefined
  const keys = encryptionKeys(configuration)
  const target = bulk(database, { tenant, encryptionKeys: keys })
  return checkpoint({ file, origin, target, cipher: createCipher(keys) })
}
