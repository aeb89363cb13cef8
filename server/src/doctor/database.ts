import { StoreError } from "../errors/store-error.js"
import {
  bulk,
  type Database,
  type DatabaseFacts,
  migrationStatus,
  reportingProcesses,
  tenantStore,
  unfinishedSignUps,
  unreadableTexts,
} from "../store/sql/index.js"
import type { Diagnosis } from "./finding.js"
import { diagnoseConnections, diagnoseSpace } from "./resources.js"
import { diagnoseRowSecurity } from "./row-security.js"
import { diagnoseSessionPolicies } from "./session-policies.js"
import { diagnoseRights, diagnoseRows, diagnoseSchema } from "./tables.js"
import { diagnoseVitess } from "./vitess.js"

const maxClockSkewMs = 1000
/** The size of the largest row: three encrypted tokens of 128 KiB, and the other columns. */
const minPacketBytes = 4 * 1024 * 1024

/** Checks an open database. Throws StoreError if it does not answer. */
export async function diagnoseDatabase(
  database: Database,
  { encryptionKeys, poolSize = 10 }: { encryptionKeys: readonly Buffer[]; poolSize?: number | undefined },
): Promise<Diagnosis[]> {
  const before = Date.now()
  const facts = await database.withQueryRunner(database.dialect.facts)
  const after = Date.now()
  const server = [
    diagnoseVersion(facts),
    ...diagnoseSettings(facts.settings),
    ...diagnoseSpace(facts),
    diagnoseClock(facts.clock, before, after),
    ...(await diagnoseRowSecurity(database)),
    ...(await diagnoseVitess(database)),
  ]
  // The other checks read tables, which PostgreSQL refuses where a policy applies.
  if (server.some(({ state, what }) => state === "wrong" && what === "row-level security")) return server
  const { hidden, diagnosis: rights } = await diagnoseRights(database)
  // Somebody who may not read the table of migrations seems to have none.
  if (hidden.has(String(database.dataSource.options.migrationsTableName))) return [...server, rights]
  const migrations = await diagnoseMigrations(database)
  const hasTables = migrations.state !== "wrong"
  const schema = hasTables ? [await diagnoseSchema(database, hidden)] : []
  const isWhole = hasTables && [rights, ...schema].every(({ state }) => state === "ok")
  /** Makes a check that reads the tables. It is left out if it cannot be made for a reason that is already reported. */
  const ofTables = async (check: () => Promise<Diagnosis[]>): Promise<Diagnosis[]> => {
    if (!hasTables) return []
    try {
      return await check()
    } catch (error) {
      if (isWhole) throw error
      return []
    }
  }
  const texts = await ofTables(() => diagnoseTexts(database))
  // Text that the driver cannot read would end the process in the other checks.
  const isReadable = texts.every(({ state }) => state === "ok")
  const ofRows = async (check: () => Promise<Diagnosis[]>) => (isReadable ? ofTables(check) : [])
  return [
    ...server,
    migrations,
    rights,
    ...schema,
    ...(await ofTables(async () =>
      diagnoseConnections(facts, { poolSize, processes: await reportingProcesses(database) }),
    )),
    ...(await ofTables(async () => [await diagnoseRows(database)])),
    ...texts,
    ...(await ofRows(() => diagnoseKeys(database, encryptionKeys))),
    ...(await ofRows(async () => [await diagnoseSignUps(database, facts.clock)])),
    ...(await ofRows(async () => [await diagnoseSessionPolicies(database)])),
  ]
}

function diagnoseVersion({ version, oldest = [0, 0] }: DatabaseFacts): Diagnosis {
  const what = "database version"
  const [major, minor] = oldest
  const [, isMajor = 0, isMinor = 0] = (/^(\d+)\.(\d+)/.exec(version) ?? []).map(Number)
  const isOld = isMajor < major || (isMajor === major && isMinor < minor)
  return isOld
    ? { state: "wrong", what, detail: `${version}: must be ${major}.${minor} or later` }
    : { state: "ok", what, detail: version }
}

/** What a setting must be, or at least be, and the advice if it is not: that it must be so (`wrong`) or should (`warning`). */
type Rule = ({ is: string } | { least: number } | { not: string }) & ({ wrong: string } | { warning: string })

const rules: Readonly<Record<string, Rule>> = {
  read_only: { is: "OFF", wrong: "must be OFF: this server accepts no writes" },
  innodb_flush_log_at_trx_commit: {
    is: "1",
    warning: "should be 1: otherwise a crash of the machine loses the last commits",
  },
  sync_binlog: { is: "1", warning: "should be 1 if there are replicas or backups of the binary log" },
  max_allowed_packet: {
    least: minPacketBytes,
    wrong: `must be at least ${minPacketBytes}: the largest rows do not fit`,
  },
  binlog_format: {
    not: "STATEMENT",
    wrong: "must be ROW (or MIXED): the server rejects the writes of transactions that read committed rows",
  },
  transaction_read_only: { is: "off", wrong: "must be off: this server accepts no writes" },
  server_encoding: { is: "UTF8", wrong: "must be UTF8: other encodings cannot represent all characters" },
  fsync: { is: "on", warning: "should be on: otherwise a crash of the machine may lose the database" },
  synchronous_commit: { not: "off", warning: "should not be off: otherwise a crash loses the last commits" },
  journal_mode: {
    is: "wal",
    warning: "should be wal, which authwire serve turns on: otherwise readers wait for writers",
  },
}

function diagnoseSettings(settings: DatabaseFacts["settings"]): Diagnosis[] {
  return Object.entries(rules).flatMap(([what, rule]): Diagnosis[] => {
    const value = settings[what]
    if (value === undefined) return []
    const isRight = "is" in rule ? value === rule.is : "not" in rule ? value !== rule.not : Number(value) >= rule.least
    if (isRight) return [{ state: "ok", what, detail: value }]
    const [state, advice] = "wrong" in rule ? (["wrong", rule.wrong] as const) : (["warning", rule.warning] as const)
    return [{ state, what, detail: `${value}: ${advice}` }]
  })
}

function diagnoseClock(clock: number, before: number, after: number): Diagnosis {
  const skew = clock < before ? before - clock : Math.max(0, clock - after)
  const what = "clock"
  if (skew <= maxClockSkewMs) return { state: "ok", what, detail: `within ${skew} ms of the database's` }
  return {
    state: "wrong",
    what,
    detail: `${skew} ms away from the database's: sessions would end early or late; synchronize both with NTP`,
  }
}

async function diagnoseMigrations(database: Database): Promise<Diagnosis> {
  const all = await migrationStatus(database)
  const what = "migrations"
  const pending = all.filter(({ applied }) => !applied).map(({ name }) => name)
  if (pending.length > 0) {
    const isFirst = pending.length === all.length
    const hasUsers = isFirst && (await database.withQueryRunner((runner) => runner.hasTable("users")))
    const advice = hasUsers
      ? "and yet there is a table users: of another application, or a backup was restored without authwire_migrations. Restore all of it, or use an empty database"
      : "run authwire migrate up"
    return { state: "wrong", what, detail: `${pending.join(", ")} pending: ${advice}` }
  }
  const unknown = all.filter(({ known }) => !known).map(({ name }) => name)
  if (unknown.length > 0) {
    return {
      state: "warning",
      what,
      detail: `${unknown.join(", ")} applied by a newer version of Authwire than this one`,
    }
  }
  return { state: "ok", what, detail: `${all.length} applied, none pending` }
}

/** Checks whether the first users and accounts of every tenant can be decrypted. Throws StoreError if they cannot be read. */
async function diagnoseKeys(database: Database, encryptionKeys: readonly Buffer[]): Promise<Diagnosis[]> {
  const what = "encryption keys"
  const tenants = await tenantStore(database).list({})
  const broken: string[] = []
  for (const { name } of tenants) {
    try {
      const { users, accounts } = bulk(database, { tenant: name, encryptionKeys })
      for (const table of [users, accounts]) for await (const _rows of table.pages()) break
    } catch (error) {
      if (!(error instanceof StoreError && error.reason === "ENCRYPTION_KEY_MISSING")) throw error
      broken.push(name)
    }
  }
  if (broken.length === 0) return [{ state: "ok", what, detail: "they decrypt the first rows of every tenant" }]
  const detail = `they do not decrypt rows of ${broken.join(", ")}: give the keys that encrypted them, the newest first; authwire rekey counts the rows that it cannot decrypt`
  return [{ state: "wrong", what, detail }]
}

const maxExamples = 5

/** How many rows of a table are examined, so that doctor ends soon. */
const examined = 5000

/** Looks for texts in SQLite that the service cannot read. Throws StoreError. */
export async function diagnoseTexts(database: Database): Promise<Diagnosis[]> {
  if (database.dialect.checksText) return []
  const what = "text"
  const found: string[] = []
  for await (const { table, column, rowid } of unreadableTexts(database, examined))
    found.push(`${table}.${column} at rowid ${rowid}`)
  if (found.length === 0)
    return [{ state: "ok", what, detail: `the newest ${examined} rows of each table are UTF-8 without U+0000` }]
  const more = found.length > maxExamples ? ` and ${found.length - maxExamples} more` : ""
  const detail = `not UTF-8, or with U+0000: ${found.slice(0, maxExamples).join(", ")}${more}: correct it, because what is not UTF-8 is returned as U+FFFD, and U+0000 is not allowed in any field`
  return [{ state: "wrong", what, detail }]
}

const days = 7
/** How many users of a tenant are listed. */
const shown = 5

/** Reports users of the last days whose sign-up was not completed. Requires the tables of this version. */
export async function diagnoseSignUps(database: Database, now: number): Promise<Diagnosis> {
  const what = "sign-ups"
  const found: string[] = []
  const since = new Date(now - days * 86_400_000)
  try {
    for (const { name: tenant } of await tenantStore(database).list({})) {
      const users = await unfinishedSignUps(database, { tenant, since, examined, limit: shown + 1 })
      const ids = users.slice(0, shown).map(({ id }) => id)
      if (users.length > shown) ids.push("and more")
      if (ids.length > 0) found.push(`tenant ${tenant}: ${ids.join(", ")}`)
    }
  } catch (error) {
    if (!(error instanceof StoreError && error.reason === "STATEMENT_TIMEOUT")) throw error
    return { state: "warning", what, detail: "there are too many users to check within the statement timeout" }
  }
  if (found.length === 0)
    return { state: "ok", what, detail: `none of the last ${days} days, or of the newest ${examined}, was interrupted` }
  const advice =
    "no account, session, passkey or verified address. Unless your application created them, their sign-ups were interrupted," +
    " and their e-mail addresses stay taken: delete them with UserService.DeleteUser, and see --provisional-sign-up"
  return { state: "warning", what, detail: `users of ${found.join("; ")} have ${advice}` }
}
