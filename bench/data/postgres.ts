import { execFile } from "node:child_process"
import { readFileSync, rmSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { createRunFolder, createServerProcess } from "@authwire/test-support/databases/servers.js"
import { Client } from "pg"
import { dataExpires, provider, sessionsPerUser } from "./keys.ts"

/** A PostgreSQL server that is started for this run, with filled tables. */
export interface PostgresServer {
  /** The name and version: `PostgreSQL 15.14`. */
  readonly version: string
  /** Creates a database with the tables of Authwire or of Drizzle's adapter, and fills them. Returns its URL. */
  load(schema: "authwire" | "plain", users: number): Promise<string>
  close(): Promise<void>
}

/** The SQL form of `uuid` in data/keys.ts. */
const uuid = `CREATE FUNCTION uuid(name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT left(h, 8) || '-' || substr(h, 9, 4) || '-' || substr(h, 13, 4) || '-' || substr(h, 17, 4) || '-' || substr(h, 21, 12)
    FROM (SELECT encode(sha256(convert_to(name, 'UTF8')), 'hex') AS h) AS hashed $$`

const c = {
  userId: "uuid('user ' || n)",
  userIdOfSession: `uuid('user ' || n / ${sessionsPerUser})`,
  name: "'Ada Lovelace ' || n",
  email: "'user.' || n || '@example.com'",
  image: "'https://avatars.example.com/u/' || n || '?v=4'",
  provider: `'${provider}'`,
  providerAccountId: "(10000000 + n)::text",
  accessToken: "'gho_' || left(encode(sha256(convert_to('access token ' || n, 'UTF8')), 'hex'), 36)",
  scope: "'read:user,user:email'",
  sessionToken: "uuid('session ' || n)",
  expires: `'${dataExpires.toISOString()}'`,
}

const fill = {
  authwire: [
    `INSERT INTO users (tenant, id, email, email_key, name, image, extra)
       SELECT 'default', ${c.userId}, ${c.email}, ${c.email}, ${c.name}, ${c.image}, '{}'`,
    `INSERT INTO accounts (tenant, provider, provider_account_id, user_id, type, access_token, token_type, scope, extra)
       SELECT 'default', ${c.provider}, ${c.providerAccountId}, ${c.userId}, 'oauth', ${c.accessToken}, 'bearer', ${c.scope}, '{}'`,
    `INSERT INTO sessions (tenant, token_hash, user_id, expires, extra)
       SELECT 'default', sha256(convert_to(${c.sessionToken}, 'UTF8')), ${c.userIdOfSession}, ${c.expires}::timestamptz, '{}'`,
  ],
  plain: [
    `INSERT INTO "user" (id, name, email, image) SELECT ${c.userId}, ${c.name}, ${c.email}, ${c.image}`,
    `INSERT INTO account ("userId", type, provider, "providerAccountId", access_token, token_type, scope)
       SELECT ${c.userId}, 'oauth', ${c.provider}, ${c.providerAccountId}, ${c.accessToken}, 'bearer', ${c.scope}`,
    `INSERT INTO session ("sessionToken", "userId", expires)
       SELECT ${c.sessionToken}, ${c.userIdOfSession}, ${c.expires}::timestamp`,
  ],
}

export async function openPostgresServer(): Promise<PostgresServer> {
  const folder = createRunFolder()
  const server = await createServerProcess("postgres", folder)
  const run = async (url: string, ...statements: string[]) => {
    const client = new Client({ connectionString: url })
    await client.connect()
    for (const statement of statements) await client.query(statement)
    await client.end()
  }
  const client = new Client({ connectionString: server.url })
  await client.connect()
  const { rows } = await client.query("SHOW server_version")
  await client.end()
  return {
    version: `PostgreSQL ${String(rows[0].server_version).split(" ", 1)[0]}`,
    async load(schema, users) {
      const url = Object.assign(new URL(server.url), { pathname: `/bench_${schema}` }).href
      await run(server.url, `CREATE DATABASE bench_${schema}`)
      if (schema === "plain") await run(url, readFileSync(new URL("plain-postgres.sql", import.meta.url), "utf8"))
      else {
        const command = fileURLToPath(new URL("../../server/bin/authwire.js", import.meta.url))
        const env = { ...process.env, AUTHWIRE_DATABASE_URL: url }
        await promisify(execFile)(process.execPath, [command, "migrate", "up"], { env })
      }
      const counts = [users, users, users * sessionsPerUser]
      const inserts = fill[schema].map((sql, n) => `${sql} FROM generate_series(0, ${Number(counts[n]) - 1}) AS n`)
      await run(url, uuid, ...inserts, "DROP FUNCTION uuid", "VACUUM ANALYZE", "CHECKPOINT")
      return url
    },
    close: () => server.remove().finally(() => rmSync(folder, { recursive: true, force: true })),
  }
}
