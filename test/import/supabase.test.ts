import { createAuthwireClient } from "@authwire/client"
import { createDatabase, describeServer, serviceServer } from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { run, startServer, testSecret } from "@authwire/test-support/processes/server.js"
import { expect, test } from "@jest/globals"

const later = endsAfterEach()

/** The tables that the documentation of @auth/supabase-adapter names, in a schema of their own. */
const tables = [
  "CREATE SCHEMA next_auth",
  `CREATE TABLE next_auth.users (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text, email text UNIQUE,
     "emailVerified" timestamptz, image text)`,
  `CREATE TABLE next_auth.sessions (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), expires timestamptz NOT NULL,
     "sessionToken" text NOT NULL UNIQUE, "userId" uuid REFERENCES next_auth.users ON DELETE CASCADE)`,
  `CREATE TABLE next_auth.accounts (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), type text NOT NULL,
     provider text NOT NULL, "providerAccountId" text NOT NULL, refresh_token text, access_token text, expires_at bigint,
     token_type text, scope text, id_token text, session_state text, oauth_token_secret text, oauth_token text,
     "userId" uuid REFERENCES next_auth.users ON DELETE CASCADE, UNIQUE (provider, "providerAccountId"))`,
  `CREATE TABLE next_auth.verification_tokens (identifier text, token text PRIMARY KEY, expires timestamptz NOT NULL,
     UNIQUE (token, identifier))`,
  // Supabase has tables of the application with the same names.
  "CREATE TABLE users (id bigint PRIMARY KEY)",
]

const id = "00112233-4455-6677-8899-aabbccddeeff"
const rows = [
  `INSERT INTO next_auth.users VALUES ('${id}', NULL, 'ada@example.com', '2030-01-02 03:04:05.678+02')`,
  `INSERT INTO next_auth.sessions (expires, "sessionToken", "userId") VALUES ('2099-01-01Z', 'cookie', '${id}')`,
  `INSERT INTO next_auth.accounts (type, provider, "providerAccountId", expires_at, "userId")
     VALUES ('oauth', 'github', 'g1', 1893456000, '${id}')`,
  "INSERT INTO next_auth.verification_tokens VALUES ('ada@example.com', 'link', '2099-01-01Z')",
]

describeServer(
  "the tables of @auth/supabase-adapter",
  (engine) => {
    test("are imported with --from typeorm and their schema, and people stay signed in", async () => {
      const [source, database] = [await createDatabase(engine), await createDatabase(engine)]
      later(() => Promise.all([source.drop(), database.drop()]))
      for (const statement of [...tables, ...rows]) await source.query(statement)
      await migrate(database)
      const secrets = { AUTHWIRE_DATABASE_URL: database.url, AUTH_SECRET: testSecret }
      const imported = await run(
        ["import", "--from=typeorm", `--url=${source.url}?schema=next_auth`, "--apply"],
        secrets,
      )
      expect(imported).toMatchObject({ code: 0, stderr: "every row was compared: source and target are equal\n" })

      const server = await startServer({ databaseUrl: database.url })
      later(() => server.stop())
      const client = createAuthwireClient({ url: server.grpcUrl })
      later(async () => client.close())
      const user = { id, email: "ada@example.com", emailVerified: new Date("2030-01-02T01:04:05.678Z"), name: null }
      expect(await client.adapter.getSessionAndUser?.("cookie")).toMatchObject({ user, session: { userId: id } })
      const account = { provider: "github", providerAccountId: "g1" }
      expect(await client.adapter.getUserByAccount?.(account)).toMatchObject(user)
      const link = { identifier: "ada@example.com", token: "link" }
      expect(await client.adapter.useVerificationToken?.(link)).toMatchObject(link)
    })
  },
  serviceServer(["postgres"]),
)
