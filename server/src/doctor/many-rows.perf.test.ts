import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { encryptionKeys } from "@authwire/test-support/store-contract/context.js"
import { expect, test } from "@jest/globals"
import { openDatabase } from "../store/sql/index.js"
import { diagnoseDatabase } from "./database.js"

const later = endsAfterEach()
const users = 50_000
const sessions = 200_000

const ofServer = {
  numbers: (count: number) =>
    `(WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < ${count}) SELECT n FROM s) s`,
  text: (n: string) => `LPAD(${n}, 32, '0')`,
  hash: "UNHEX(SHA2(n, 256))",
  ago: "UTC_TIMESTAMP(3) - INTERVAL n SECOND",
}

/** What each engine writes in its own way: the numbers from 1, a text of 32 digits, 32 bytes, a time of its own. */
const dialects = {
  sqlite: {
    numbers: (count: number) =>
      `(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ${count}) SELECT n FROM s) s`,
    text: (n: string) => `printf('%032d', ${n})`,
    hash: "randomblob(32)",
    ago: "strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || n || ' seconds')",
  },
  mysql: ofServer,
  mariadb: ofServer,
  postgres: {
    numbers: (count: number) => `generate_series(1, ${count}) AS s (n)`,
    text: (n: string) => `lpad((${n})::text, 32, '0')`,
    hash: "sha256(n::text::bytea)",
    ago: "now() - n * interval '1 second'",
  },
}

test.each(databaseTargets())(
  "%s: a whole database with 200,000 sessions is checked within 2 seconds",
  async (target) => {
    const database = await createStoreDatabase(target)
    later(database.drop)
    const { numbers, text, hash, ago } = dialects[target]
    const setting = { mysql: "cte_max_recursion_depth", mariadb: "max_recursive_iterations" }
    if (target in setting) await database.query(`SET SESSION ${setting[target as keyof typeof setting]} = ${sessions}`)
    await database.query(
      `INSERT INTO users (tenant, id, extra, email, email_key, created) SELECT 'default', ${text("n")}, '{}', ${text("n")}, ${text("n")}, ${ago} FROM ${numbers(users)}`,
    )
    await database.query(
      `INSERT INTO accounts (tenant, provider, provider_account_id, user_id, type, extra) SELECT 'default', 'p', ${text("n")}, ${text("n")}, 'oauth', '{}' FROM ${numbers(users)}`,
    )
    await database.query(
      `INSERT INTO sessions (tenant, token_hash, user_id, expires, extra, id) SELECT 'default', ${hash}, ${text(`n % ${users} + 1`)}, '2031-01-02 03:04:05.000', '{}', ${text("n")} FROM ${numbers(sessions)}`,
    )
    const begun = performance.now()
    const opened = await openDatabase({ url: database.url, readOnly: true })
    later(opened.close)
    const found = await diagnoseDatabase(opened, { encryptionKeys })
    const ms = performance.now() - begun
    process.stderr.write(`${target}: ${ms.toFixed()} ms\n`)
    expect(found.filter(({ state }) => state === "wrong")).toEqual([])
    expect(ms).toBeLessThan(2_000)
  },
  120_000,
)
