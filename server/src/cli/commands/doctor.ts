import { encryptionKeys, openConfiguredDatabase } from "../../bootstrap/database.js"
import type { Configuration } from "../../config/configuration.js"
import { diagnoseDatabase } from "../../doctor/database.js"
import type { Diagnosis } from "../../doctor/finding.js"
import { diagnoseService } from "../../doctor/service.js"
import { diagnoseTls } from "../../doctor/tls.js"
import { StartError } from "../../errors/start-error.js"
import { createLog } from "../../logging/logger.js"
import { checkReport } from "./import-report.js"
import { checkOrigin, missingFile, openOrigin } from "./import-source.js"
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
  const complete = { ...configuration, dev: false }
  const log = createLog(configuration)
  const files = cert === undefined || key === undefined ? undefined : { cert, key, clientCa }
  const { adapterUrl: url, adapterApiKey: apiKey } = configuration
  const diagnoses: Diagnosis[] = [
    ...configuration.doubts.map((detail): Diagnosis => ({ state: "warning", what: "secret", detail })),
    ...(await diagnoseInstallation()),
    ...diagnoseTls(files, Date.now()),
    ...(url === undefined ? [] : await diagnoseService({ url, apiKey })),
  ]
  print(
    table(
      ["", "what", "result"],
      diagnoses.map(({ state, what, detail }) => [state, what, detail]),
    ),
  )
  let isWell = diagnoses.every(({ state }) => state !== "wrong")
  if (configuration.from !== undefined) {
    const origin = await openOrigin(complete, log)
    try {
      const { check, rows } = await withStartError("doctor", () => checkOrigin(origin, configuration.report))
      print(`\n${checkReport(origin, check, rows)}`)
      isWell &&= check.findings.errors === 0
      check.close()
    } finally {
      await origin.close()
    }
  }
  return isWell ? 0 : 1

  async function diagnoseInstallation(): Promise<Diagnosis[]> {
    const options: Diagnosis = { state: "ok", what: "options", detail: "the given options are valid" }
    const missing = missingFile(complete.databaseUrl)
    if (missing !== undefined) {
      return [options, { state: "wrong", what: "database", detail: `there is no file ${missing}` }]
    }
    try {
      const database = await openConfiguredDatabase(complete, log)
      try {
        const found = await withStartError("the database", () =>
          diagnoseDatabase(database, { encryptionKeys: encryptionKeys(complete) }),
        )
        return [options, ...found]
      } finally {
        await database.close()
      }
    } catch (error) {
      if (!(error instanceof StartError)) throw error
      return [options, { state: "wrong", what: "database", detail: error.message }]
    }
  }
}
