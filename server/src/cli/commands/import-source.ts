import { closeSync, openSync, statSync, writeSync } from "node:fs"
import type { Logger } from "pino"
import {
  type DatabaseConfiguration,
  encryptionKeys,
  openingError,
  openMigratedDatabase,
} from "../../bootstrap/database.js"
import type { Configuration } from "../../config/configuration.js"
import { ConfigurationError } from "../../errors/configuration-error.js"
import { orStartError, StartError } from "../../errors/start-error.js"
import { authwireSource } from "../../import/authwire-source.js"
import { type Check, type CheckOptions, check } from "../../import/check.js"
import type { ConversionSummary, Finding } from "../../import/findings.js"
import type { ImportSource } from "../../import/item.js"
import { collectionsSource } from "../../import/jsonl/collections.js"
import { exportSource } from "../../import/jsonl/export-source.js"
import { noMapping, readMapping } from "../../import/peer/mapping.js"
import { openSource } from "../../import/peer/open.js"
import { peerSource } from "../../import/peer/peer-source.js"
import type { Source } from "../../import/peer/source.js"
import { type BulkName, bulkNames, type Database, homeOf } from "../../store/sql/index.js"
import { withProgress } from "./progress.js"
import { findTenant, requireReadableTexts, withStartError } from "./with-database.js"

type SourceConfiguration = Configuration<"import"> & Configuration<"doctor">

/** The timeout of statements, in milliseconds. Counting the rows of a large table takes long. */
export const bulkTimeoutMs = 600_000

/** Opens the database that `--from` and `--url` name. Throws ConfigurationError and StartError. */
export async function openImportSource(
  configuration: Pick<SourceConfiguration, "from" | "url" | "mapping" | "tenant"> & DatabaseConfiguration & Keys,
  log: Logger,
): Promise<ImportSource> {
  const { from, url = "", mapping, tenant } = configuration
  if (from === undefined) throw new ConfigurationError("--from: is required")
  if (from === "authwire") {
    const there = {
      ...configuration,
      // The source has a user of its own, whose password is in its URL.
      databasePasswordFile: undefined,
      databasePasswordCommand: undefined,
      databaseUrl: url,
      dev: false,
      readOnly: true,
      databaseStatementTimeoutMs: bulkTimeoutMs,
    }
    const database = await openAuthwireSource(there, log)
    try {
      const read = async () => {
        await requireReadableTexts(database, "--url")
        if ((await findTenant(database, tenant)) === undefined)
          throw new StartError(`--url: there is no tenant ${tenant}`)
        return authwireSource(await homeOf(database, tenant), { tenant, encryptionKeys: encryptionKeys(configuration) })
      }
      return await withStartError("--url", read, "", "--url")
    } catch (error) {
      await database.close()
      throw error
    }
  }
  if (from === "jsonl" && isFile(url)) return exportSource(url, tenant)
  const names = mapping === undefined ? noMapping : readMapping(mapping)
  const source = from === "jsonl" ? collectionsSource(url) : await openPeer(url, log)
  try {
    return await withStartError("--url", () => peerSource(source, { peer: from, mapping: names, tenant }), "", "--url")
  } catch (error) {
    await source.close()
    throw error
  }
}

function isFile(path: string): boolean {
  return orStartError(`--url: cannot read ${path}`, () => statSync(path)).isFile()
}

/** Opens the database of another adapter. */
async function openPeer(url: string, log: Logger): Promise<Source> {
  try {
    return await openSource(url, (parameters) => log.warn({ parameters }, "these parameters of --url have no effect"))
  } catch (error) {
    if (error instanceof ConfigurationError || error instanceof StartError) throw error
    throw ofSource(openingError(url, error))
  }
}

type Keys = Parameters<typeof encryptionKeys>[0]

async function openAuthwireSource(configuration: DatabaseConfiguration, log: Logger): Promise<Database> {
  try {
    return await openMigratedDatabase(configuration, log)
  } catch (error) {
    throw error instanceof StartError ? ofSource(error) : error
  }
}

/** Returns the error with the option of the source. Otherwise it would seem to concern --database-url. */
function ofSource(error: StartError): StartError {
  return new StartError(`--url: ${error.message.replaceAll("--database-url", "--url")}`, { cause: error })
}

/** Reads all rows of the source, with a progress bar. Findings and conversions are also written to the file of `--report`. */
export async function checkImportSource(
  source: ImportSource,
  report: string | undefined,
  options: Pick<CheckOptions, "target">,
): Promise<{ check: Check; rows: Record<string, number>; total: number }> {
  const rows = {} as Record<BulkName, number>
  for (const name of bulkNames) rows[name] = await source.count(name)
  const total = Object.values(rows).reduce((sum, count) => sum + count, 0)
  const file = report === undefined ? undefined : openReport(report)
  const onFinding = (finding: Finding | ({ kind: "conversion" } & ConversionSummary)) => {
    if (file !== undefined) writeSync(file, `${JSON.stringify(finding)}\n`)
  }
  try {
    const checked = await withProgress("reading  ", total, (onRows) =>
      check(source, { ...options, counted: rows, onFinding, onRows }),
    )
    for (const conversion of checked.findings.conversions()) onFinding({ kind: "conversion", ...conversion })
    return { check: checked, rows, total }
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

function openReport(path: string): number {
  return orStartError(`--report: cannot write ${path}`, () => openSync(path, "w", 0o600))
}
