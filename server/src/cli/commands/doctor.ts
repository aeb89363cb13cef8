import { encryptionKeys, openConfiguredDatabase } from "../../bootstrap/database.js"
import type { Configuration } from "../../config/configuration.js"
import { diagnoseDatabase } from "../../doctor/database.js"
import type { Diagnosis } from "../../doctor/finding.js"
import { diagnoseService } from "../../doctor/service.js"
import { diagnoseTls } from "../../doctor/tls.js"
import { StartError } from "../../errors/start-error.js"
import { createLog } from "../../logging/logger.js"
import { type Database, holders, homeOf } from "../../store/sql/index.js"
import { checkReport } from "./import-report.js"
import { checkImportSource, openImportSource } from "./import-source.js"
import { type CommandOutput, table } from "./output.js"
import { withStartError } from "./with-database.js"

/**
 * `authwire doctor`: checks an installation. With `--from` it also reports what a dry run of the import finds in that
 * database. Changes nothing. Throws ConfigurationError, and StartError if the source database cannot be read.
 *
 * @returns The exit code: 1 if something is wrong.
 */
export async function doctor(configuration: Configuration<"doctor">, { print }: CommandOutput): Promise<number> {
  const { tlsCert: cert, tlsKey: key, tlsClientCa: clientCa } = configuration
  // Without --dev, which would create files and a database.
  const complete = { ...configuration, dev: false, readOnly: true }
  const log = createLog(configuration)
  const files = cert === undefined || key === undefined ? undefined : { cert, key, clientCa }
  const { grpcAddr, httpAddr, metricsAddr, insecureBehindProxy } = configuration
  const addresses = [grpcAddr, httpAddr, metricsAddr].filter((address) => address !== undefined)
  const { adapterUrl: url, adapterApiKey: apiKey } = configuration
  const options: Diagnosis = { state: "ok", what: "options", detail: "the given options are valid" }
  const opened = await openConfiguredDatabase(complete, log).catch((error: unknown): Diagnosis => {
    if (!(error instanceof StartError)) throw error
    return { state: "wrong", what: "database", detail: error.message }
  })
  const database = "state" in opened ? undefined : opened
  try {
    const found = database === undefined ? [opened as Diagnosis] : await diagnose(database)
    const diagnoses: Diagnosis[] = [
      options,
      ...configuration.doubts.map((detail): Diagnosis => ({ state: "warning", what: "secret", detail })),
      ...found,
      ...diagnoseTls({ files, addresses, insecureBehindProxy }, Date.now()),
      ...(url === undefined ? [] : await diagnoseService({ url, apiKey })),
    ]
    print(
      table(
        ["", "what", "result"],
        diagnoses.map(({ state, what, detail }) => [state, what, detail]),
      ),
    )
    const isWell = diagnoses.every(({ state }) => state !== "wrong")
    if (configuration.from === undefined) return isWell ? 0 : 1
    const hasTables = found.some(({ state, what }) => what === "migrations" && state !== "wrong")
    return (await diagnoseSource(hasTables ? database : undefined)) && isWell ? 0 : 1
  } finally {
    await database?.close()
  }

  async function diagnose(database: Database): Promise<Diagnosis[]> {
    const found = await diagnoseOne(database)
    for (const shard of database.shards?.all() ?? []) {
      const what = `shard ${shard.dataSource.options.database}`
      const ofShard = await diagnoseOne(shard)
      const others = ofShard.filter(({ state }) => state !== "ok")
      found.push({ state: "ok", what, detail: `${ofShard.length - others.length} checks are as above` })
      found.push(...others.map((one) => ({ ...one, what: `${what}: ${one.what}` })))
    }
    return found
  }

  async function diagnoseOne(database: Database): Promise<Diagnosis[]> {
    try {
      return await withStartError("the database", () =>
        diagnoseDatabase(database, {
          encryptionKeys: encryptionKeys(complete),
          poolSize: complete.databasePoolSize,
        }),
      )
    } catch (error) {
      if (!(error instanceof StartError)) throw error
      return [{ state: "wrong", what: "database", detail: error.message }]
    }
  }

  /** Returns whether the rows of the source have no errors. */
  async function diagnoseSource(target: Database | undefined): Promise<boolean> {
    const source = await openImportSource(complete, log)
    try {
      const options = {
        target: target && {
          holders: holders(await homeOf(target, configuration.tenant), configuration.tenant),
          deletes: false,
        },
      }
      const { check, rows } = await withStartError("doctor", () =>
        checkImportSource(source, configuration.report, options),
      )
      print(`\n${checkReport(source, check, rows)}`)
      check.close()
      return check.findings.errors === 0
    } finally {
      await source.close()
    }
  }
}
