import {
  createDatabase,
  type DatabaseTarget,
  databaseTargets,
  type TestDatabase,
} from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { createUser, dropUser } from "@authwire/test-support/databases/server-sql.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { encryptionKeys } from "@authwire/test-support/store-contract/context.js"
import { expect, test } from "@jest/globals"
import { openDatabase } from "../store/sql/index.js"
import { diagnoseDatabase } from "./database.js"

const later = endsAfterEach()

interface Fault {
  fault: string
  /** The engines that can have it. Default: all. */
  on?: readonly DatabaseTarget[]
  /** The statements that break the database, and those that mend it. `user` is that of the service. */
  broken: (target: DatabaseTarget, user: string, name: string) => readonly string[]
  mended: (target: DatabaseTarget, user: string, name: string) => readonly string[]
  /** The cause and the remedy. */
  told: RegExp
}

const servers = ["mysql", "mariadb", "postgres"] as const
const isPostgres = (target: DatabaseTarget) => target === "postgres"
const onTable = (target: DatabaseTarget, table: string) =>
  target === "mysql" || target === "mariadb" ? ` ON ${table}` : ""
/** The type of a column of MySQL and MariaDB, or of PostgreSQL. */
const retyped = (table: string, column: string, ofMysql: string, ofPostgres: string) => (target: DatabaseTarget) => [
  isPostgres(target)
    ? `ALTER TABLE ${table} ALTER COLUMN ${column} TYPE ${ofPostgres}`
    : `ALTER TABLE ${table} MODIFY ${column} ${ofMysql}`,
]
const limited = (most: number) => (target: DatabaseTarget, user: string) => [
  isPostgres(target)
    ? `ALTER ROLE ${user} CONNECTION LIMIT ${most}`
    : `ALTER USER '${user}'@'%' WITH MAX_USER_CONNECTIONS ${Math.max(most, 0)}`,
]
const right = (how: "GRANT" | "REVOKE") => (target: DatabaseTarget, user: string, name: string) => {
  const toOrFrom = how === "GRANT" ? "TO" : "FROM"
  return isPostgres(target)
    ? [`${how} DELETE ON sessions ${toOrFrom} ${user}`]
    : [`${how} DELETE ON ${name}.* ${toOrFrom} '${user}'@'%'`]
}
const withoutChecks = (statement: string) => (target: DatabaseTarget) => {
  const [off, on] = isPostgres(target)
    ? ["SET session_replication_role = replica", "SET session_replication_role = DEFAULT"]
    : target === "sqlite"
      ? ["PRAGMA foreign_keys = OFF", "PRAGMA foreign_keys = ON"]
      : ["SET foreign_key_checks = 0", "SET foreign_key_checks = 1"]
  return [off as string, statement.replace("$hash", isPostgres(target) ? "'\\x01'" : "X'01'"), on as string]
}

const faults: readonly Fault[] = [
  {
    fault: "a table was dropped",
    broken: () => ["ALTER TABLE verification_tokens RENAME TO gone"],
    mended: () => ["ALTER TABLE gone RENAME TO verification_tokens"],
    told: /^wrong tables: verification_tokens is missing: .* Restore it into an empty database/,
  },
  {
    fault: "a column is missing",
    broken: () => ["ALTER TABLE sessions RENAME COLUMN ip TO gone"],
    mended: () => ["ALTER TABLE sessions RENAME COLUMN gone TO ip"],
    told: /^wrong tables: sessions\.ip is missing, and must be (varchar\(64\)|text|character varying\(64\)).*: .* change the tables/,
  },
  {
    fault: "a column has another type",
    on: servers,
    broken: retyped(
      "users",
      "name",
      "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
      `varchar(40) COLLATE "C"`,
    ),
    mended: retyped("users", "name", "TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", `text COLLATE "C"`),
    told: /^wrong tables: users\.name is (varchar|character varying)\(40\) .*, and must be text .*: .* change the tables/,
  },
  {
    fault: "a column has another collation",
    on: servers,
    broken: retyped(
      "users",
      "name",
      "TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
      'text COLLATE "und-x-icu"',
    ),
    mended: retyped("users", "name", "TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", `text COLLATE "C"`),
    told: /^wrong tables: users\.name is text COLLATE (utf8mb4_general_ci|und-x-icu) NULL, and must be text COLLATE (utf8mb4_bin|C) NULL: /,
  },
  {
    fault: "an index is missing",
    broken: (target) => [`DROP INDEX sessions_expires${onTable(target, "sessions")}`],
    mended: () => ["CREATE INDEX sessions_expires ON sessions (expires)"],
    told: /^wrong tables: sessions needs CREATE INDEX sessions_expires ON sessions \(expires\): /,
  },
  {
    fault: "an index is not unique any more",
    broken: (target) => [
      `DROP INDEX users_email_key${onTable(target, "users")}`,
      "CREATE INDEX users_email_key ON users (tenant, email_key)",
    ],
    mended: (target) => [
      `DROP INDEX users_email_key${onTable(target, "users")}`,
      "CREATE UNIQUE INDEX users_email_key ON users (tenant, email_key)",
    ],
    told: /^wrong tables: users needs CREATE UNIQUE INDEX users_email_key ON users \(tenant, email_key\): /,
  },
  {
    fault: "a foreign key is missing",
    on: servers,
    broken: () => ["ALTER TABLE sessions DROP CONSTRAINT sessions_user_id_fkey"],
    mended: () => [
      "ALTER TABLE sessions ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (tenant, user_id) REFERENCES users (tenant, id)",
    ],
    told: /^wrong tables: sessions needs FOREIGN KEY \(tenant, user_id\) REFERENCES users \(tenant, id\): /,
  },
  {
    fault: "a column of somebody else must be given",
    on: servers,
    broken: () => ["ALTER TABLE users ADD COLUMN shop VARCHAR(20) NOT NULL"],
    mended: () => ["ALTER TABLE users DROP COLUMN shop"],
    told: /^wrong tables: users\.shop is not of Authwire, and has no default: /,
  },
  {
    fault: "a counter is lost",
    on: servers,
    broken: (target) => [
      isPostgres(target)
        ? "ALTER TABLE events ALTER COLUMN id DROP DEFAULT"
        : "ALTER TABLE events MODIFY id BIGINT NOT NULL",
    ],
    mended: (target) => [
      isPostgres(target)
        ? "ALTER TABLE events ALTER COLUMN id SET DEFAULT nextval('events_id_seq')"
        : "ALTER TABLE events MODIFY id BIGINT NOT NULL AUTO_INCREMENT",
    ],
    told: /^wrong tables: events\.id is bigint NOT NULL in the primary key, and must be bigint NOT NULL with a counter /,
  },
  {
    fault: "a trigger is off",
    on: ["postgres"],
    broken: () => ["ALTER TABLE api_keys DISABLE TRIGGER api_keys_changed"],
    mended: () => ["ALTER TABLE api_keys ENABLE TRIGGER api_keys_changed"],
    told: /^wrong tables: the trigger api_keys_changed is missing or off: /,
  },
  {
    fault: "the user may not delete",
    on: servers,
    broken: right("REVOKE"),
    mended: right("GRANT"),
    told: /^wrong rights: this user lacks .*DELETE on sessions.*: calls that need them fail; give them to the user .* with GRANT/,
  },
  {
    fault: "the user may not use a sequence",
    on: ["postgres"],
    broken: (_, user) => [`REVOKE ALL ON SEQUENCE events_id_seq FROM ${user}`],
    mended: (_, user) => [`GRANT ALL ON SEQUENCE events_id_seq TO ${user}`],
    told: /^wrong rights: this user lacks USAGE on SEQUENCE public\.events_id_seq: .* with GRANT/,
  },
  {
    fault: "the user may not read the migrations",
    on: ["postgres"],
    broken: (_, user) => [`REVOKE ALL ON authwire_migrations FROM ${user}`],
    mended: (_, user) => [`GRANT ALL ON authwire_migrations TO ${user}`],
    told: /^wrong rights: this user lacks SELECT on authwire_migrations: /,
  },
  {
    fault: "the user may have fewer connections than the pool",
    on: servers,
    broken: limited(5),
    mended: limited(-1),
    told: /^wrong connections: 5 are allowed, and one process .* may open 12, so calls wait or fail\. It is the limit of this user: raise it/,
  },
  {
    fault: "the database may have fewer connections than the pool",
    on: ["postgres"],
    broken: (_, _user, name) => [`ALTER DATABASE ${name} CONNECTION LIMIT 6`],
    mended: (_, _user, name) => [`ALTER DATABASE ${name} CONNECTION LIMIT -1`],
    told: /^wrong connections: 6 are allowed, .* It is the limit of the database: raise it/,
  },
  {
    fault: "the processes that report session caches may have fewer connections than their pools",
    on: servers,
    broken: (target, user) => [
      ...limited(30)(target, user),
      ...["a", "b", "c"].map(
        (process) =>
          `INSERT INTO caches (tenant, process, version, lease_ms, confirmed, expires) VALUES ('default', '${process}', 1, 1, 1, '2099-01-02 03:04:05.000')`,
      ),
    ],
    mended: (target, user) => [...limited(-1)(target, user), "DELETE FROM caches"],
    told: /^warning connections: 30 are allowed, and 3 processes .* may open 36, so calls wait or fail\. It is the limit of this user: raise it/,
  },
  {
    fault: "the sessions were restored without their users",
    broken: withoutChecks(
      "INSERT INTO sessions (tenant, token_hash, user_id, expires, extra, id) VALUES ('default', $hash, 'nobody', '2031-01-02 03:04:05.000', '{}', 'a')",
    ),
    mended: () => ["DELETE FROM sessions"],
    told: /^wrong rows: 1 or more rows of sessions have no row in users: .* restore it into an empty database, or delete/,
  },
  {
    fault: "the tables were restored without rows",
    broken: () => ["UPDATE tenants SET name = 'gone'"],
    mended: () => ["UPDATE tenants SET name = 'default'"],
    told: /^wrong rows: the row default of tenants is missing: .* restore it into/,
  },
  {
    fault: "the tables were restored without the migrations",
    broken: () => ["ALTER TABLE authwire_migrations RENAME TO gone"],
    mended: () => ["ALTER TABLE gone RENAME TO authwire_migrations"],
    told: /^wrong migrations: 0001-initial pending: and yet there is a table users: .* Restore all of it/,
  },
]

/** The database, and what doctor says about it as the user of the service, apart from what is well. */
async function diagnosing(target: DatabaseTarget) {
  const tables: TestDatabase = await createDatabase(target)
  later(tables.drop)
  await migrate(tables)
  const user = `doctor_${target}_${Math.random().toString(36).slice(2, 8)}`
  const url = target === "sqlite" ? tables.url : await createUser(tables, user, "pass")
  if (target !== "sqlite") later(() => dropUser(tables, user))
  const problems = async () => {
    const database = await openDatabase({ url, readOnly: true })
    const found = await diagnoseDatabase(database, { encryptionKeys }).finally(database.close)
    return found.filter(({ state }) => state !== "ok").map(({ state, what, detail }) => `${state} ${what}: ${detail}`)
  }
  const name = target === "sqlite" ? "" : new URL(url).pathname.slice(1)
  return { tables, problems, user, name }
}

// One after the other, because opening a database imports its driver, which jest allows only in the test that runs.
test.each(databaseTargets())(
  "on %s each broken database is named with its cause and its remedy, and a whole one is not",
  async (target) => {
    const { tables, problems, user, name } = await diagnosing(target)
    // The server of the tests may lose the last commits.
    const before = await problems()
    expect(before.filter((problem) => !/^warning (innodb_flush|sync_binlog|fsync|journal_mode)/.test(problem))).toEqual(
      [],
    )
    for (const { fault, on, broken, mended, told } of faults) {
      if (on !== undefined && !on.includes(target)) continue
      for (const statement of broken(target, user, name)) await tables.query(statement)
      const found = await problems()
      expect({ fault, found }).toEqual({ fault, found: expect.arrayContaining([expect.stringMatching(told)]) })
      for (const statement of mended(target, user, name)) await tables.query(statement)
    }
    expect(await problems()).toEqual(before)
  },
  120_000,
)
