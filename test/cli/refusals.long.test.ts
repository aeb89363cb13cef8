import { writeFileSync } from "node:fs"
import { join } from "node:path"
import {
  createDatabaseOn,
  describeServers,
  ownServers,
  type ServerEngine,
  type TestDatabase,
} from "@authwire/test-support/databases/databases.js"
import { createUser } from "@authwire/test-support/databases/server-sql.js"
import { startTlsServer, type TlsServer } from "@authwire/test-support/databases/tls-server.js"
import { certificate } from "@authwire/test-support/processes/certificate.js"
import { run, testSecret } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import { createConnection } from "mysql2/promise"

const password = "hunter2"

/** What a server is told to do, how a command uses it then, and what the one line of the command begins with and contains. */
interface Refused {
  name: string
  /** The statements of each engine that has the case. */
  on: Partial<Record<ServerEngine, readonly string[]>>
  /** Statements that undo it. */
  off?: readonly string[]
  /** Whether the user has a connection already. */
  holds?: boolean
  command?: readonly string[]
  url?: (url: URL) => void
  says: RegExp
  /** Follows the remedy in the URL, after which the command succeeds. */
  remedy?: (url: URL) => void
}

const encrypts = (url: URL) =>
  url.searchParams.set(
    url.protocol === "postgres:" ? "sslmode" : "ssl-mode",
    url.protocol === "postgres:" ? "require" : "REQUIRED",
  )
const accessDenied =
  /rejects the user or the password \(Access denied for user 'shop'.*, ER_ACCESS_DENIED_ERROR\): .*requires TLS, add ssl-mode=/
const alter = (text: string) => [`ALTER USER shop@'%' ${text}`]

// In order: those that change the tables come last.
const refused: readonly Refused[] = [
  {
    name: "a wrong password",
    on: { mysql: [], mariadb: [], postgres: [] },
    url: (url) => Object.assign(url, { password: "hunter3" }),
    says: /: the server rejects the user or the password \((Access denied for user 'shop'.*, ER_ACCESS_DENIED_ERROR|password authentication failed for user "shop", 28P01)\): correct them/,
    remedy: (url) => Object.assign(url, { password }),
  },
  {
    name: "a database that does not exist",
    on: { mysql: [], mariadb: [], postgres: [] },
    url: (url) => Object.assign(url, { pathname: "/nowhere" }),
    says: /: (there is no such database|the user lacks a right) \((Access denied for user 'shop'@'%' to database 'nowhere', ER_DBACCESS_DENIED_ERROR|database "nowhere" does not exist, 3D000)\): /,
  },
  {
    name: "a user that must encrypt",
    on: { mysql: alter("REQUIRE SSL"), mariadb: alter("REQUIRE SSL") },
    off: alter("REQUIRE NONE"),
    says: accessDenied,
    remedy: encrypts,
  },
  {
    // MariaDB rejects the user without a reason.
    name: "a server of MariaDB that demands encryption",
    on: { mariadb: ["SET GLOBAL require_secure_transport = ON"] },
    off: ["SET GLOBAL require_secure_transport = OFF"],
    says: accessDenied,
    remedy: encrypts,
  },
  {
    name: "a server that demands encryption",
    on: {
      mysql: ["SET GLOBAL require_secure_transport = ON"],
    },
    off: ["SET GLOBAL require_secure_transport = OFF"],
    says: /: the server accepts only encrypted connections \(Connections using insecure transport are prohibited.*, ER_SECURE_TRANSPORT_REQUIRED\): add ssl-mode=/,
    remedy: encrypts,
  },
  {
    name: "a certificate of another authority",
    on: { mysql: [], mariadb: [] },
    url: (url) => url.searchParams.set("ssl-mode", "VERIFY_CA"),
    says: /: no encrypted connection to this server can be made \(.*HANDSHAKE_SSL_ERROR\): was its certificate issued by/,
    remedy: encrypts,
  },
  {
    name: "a certificate of another authority",
    on: { postgres: [] },
    url: (url) => url.searchParams.set("sslmode", "verify-ca"),
    says: /: no encrypted connection to this server can be made \(self-signed certificate.*, DEPTH_ZERO_SELF_SIGNED_CERT\): was its certificate/,
    remedy: encrypts,
  },
  {
    name: "a locked user",
    on: { mysql: alter("ACCOUNT LOCK"), mariadb: alter("ACCOUNT LOCK") },
    off: alter("ACCOUNT UNLOCK"),
    says: /: the user is locked \(.*ccount is locked.*\): ALTER USER/,
  },
  {
    name: "a user that may not log in",
    on: { postgres: ["ALTER ROLE shop NOLOGIN"] },
    off: ["ALTER ROLE shop LOGIN"],
    says: /: the server does not admit this user \(role "shop" is not permitted to log in, 28000\): .*may it log in/,
  },
  {
    name: "a plugin that the driver lacks",
    on: { mariadb: ["INSTALL SONAME 'auth_pam'", "CREATE USER pam IDENTIFIED VIA pam"] },
    url: (url) => Object.assign(url, { username: "pam" }),
    says: /: the user cannot be authenticated in the way that the server asks for \(.*unknown plugin dialog.*, AUTH_SWITCH_PLUGIN_ERROR\): let the user have /,
  },
  {
    name: "a limit of connections",
    on: {
      mysql: alter("WITH MAX_USER_CONNECTIONS 1"),
      mariadb: alter("WITH MAX_USER_CONNECTIONS 1"),
      postgres: ["ALTER ROLE shop CONNECTION LIMIT 0"],
    },
    off: alter("WITH MAX_USER_CONNECTIONS 0"),
    holds: true,
    says: /: the server has no more connections for this user \((User 'shop' has exceeded the 'max_user_connections' resource.*, ER_USER_LIMIT_REACHED|too many connections for role "shop", 53300)\): lower --database-pool-size/,
  },
  {
    name: "too many connections",
    on: { mysql: ["SET GLOBAL max_connections = 1"] },
    off: ["SET GLOBAL max_connections = 100"],
    says: /: the server has no more connections for this user \(Too many connections, ER_CON_COUNT_ERROR\): lower --database-pool-size/,
  },
  {
    name: "a server that accepts no writes",
    on: {
      mysql: ["SET GLOBAL read_only = ON"],
      mariadb: ["SET GLOBAL read_only = ON"],
      postgres: ["ALTER ROLE shop SET default_transaction_read_only = on"],
    },
    off: ["SET GLOBAL read_only = OFF"],
    command: ["migrate", "up"],
    says: /: (the server accepts no writes \(.*, (ER_OPTION_PREVENTS_STATEMENT|25006)\): let --database-url lead to the primary|no server can be used)/,
  },
  {
    name: "a user that may not create tables",
    on: {
      mysql: ["REVOKE ALL ON {db}.* FROM shop@'%'", "GRANT SELECT ON {db}.* TO shop@'%'"],
      mariadb: ["REVOKE ALL ON {db}.* FROM shop@'%'", "GRANT SELECT ON {db}.* TO shop@'%'"],
      postgres: ["ALTER DATABASE {db} OWNER TO postgres"],
    },
    command: ["migrate", "up"],
    says: /^authwire: migrate up: the user lacks a right \((CREATE command denied to user 'shop'.*, ER_TABLEACCESS_DENIED_ERROR|permission denied for schema public, 42501)\): grant it: docs\/deploying\.md/,
  },
]

describeServers(
  "what %s refuses is said in its own words, with what to do",
  (engine) => {
    let server: TlsServer
    let database: TestDatabase
    let url: string

    beforeAll(async () => {
      server = await startTlsServer(engine, certificate("localhost"))
      database = await createDatabaseOn(server)
      url = await createUser(database, "shop", password)
    }, 120_000)
    afterAll(() => server?.remove())

    const query = async (statements: readonly string[]) => {
      for (const sql of statements) await database.query(sql.replaceAll("{db}", new URL(url).pathname.slice(1)))
    }
    /** Runs a command at a URL that is made of the user's. */
    const ran = (args: readonly string[], change: (url: URL) => void = () => {}) => {
      const given = new URL(url)
      change(given)
      return run([...args], { AUTHWIRE_DATABASE_URL: given.href, AUTH_SECRET: testSecret })
    }

    test.each(refused.filter(({ on }) => on[engine] !== undefined))("$name", async (one) => {
      const { on, off = [], holds, command = ["migrate", "status"], says, remedy } = one
      await query(on[engine] ?? [])
      const held = holds && engine !== "postgres" ? await createConnection(url) : undefined
      try {
        const { code, stderr } = await ran(command, one.url)
        expect(stderr).toMatch(says)
        expect(stderr).toMatch(/^authwire: [^\n]*\n$/)
        expect(stderr).not.toMatch(/hunter[23]/)
        expect(code).toBe(1)
        if (remedy !== undefined) {
          const followed = await ran(command, (given) => {
            one.url?.(given)
            remedy(given)
          })
          expect(followed).toMatchObject({ code: 0, stderr: "" })
        }
      } finally {
        await held?.end()
        if (engine !== "postgres") await query(off)
        else
          await query([
            "ALTER ROLE shop LOGIN CONNECTION LIMIT -1",
            "ALTER ROLE shop RESET default_transaction_read_only",
          ])
      }
    })

    test("every command that opens the database, and the source of an import", async () => {
      const wrong = (given: URL) => Object.assign(given, { password: "hunter3" })
      const source = Object.assign(new URL(url), { password: "hunter3" }).href
      const says =
        /the server rejects the user or the password \(.*(Access denied|authentication failed).*\): correct them in/
      for (const command of [
        ["serve"],
        ["doctor"],
        ["migrate", "up"],
        ["keys", "list"],
        ["tenants", "list"],
        ["export"],
        ["cleanup"],
        ["rekey"],
        ["events", "tail"],
        ["import", "--from=prisma", "--url=file:./dev.db"],
      ]) {
        const { code, stdout, stderr } = await ran(command, wrong)
        expect([command[0], stdout + stderr]).toEqual([command[0], expect.stringMatching(says)])
        expect(code).toBe(1)
      }
      const target = { AUTHWIRE_DATABASE_URL: "sqlite::memory:", AUTH_SECRET: testSecret }
      const { stderr } = await run(["doctor", "--from=prisma", `--url=${source}`], target)
      expect(stderr).toMatch(
        /^authwire: --url: cannot open the database at .* the server rejects .*: correct them in --url/,
      )
    })

    if (engine === "mysql")
      test("a part of a password that is not escaped, which becomes the name of the database", async () => {
        const given = `mysql://root:@127.0.0.1:${server.port}/hunter2@host/authwire`
        const { stderr } = await run(["migrate", "status"], { AUTHWIRE_DATABASE_URL: given, AUTH_SECRET: testSecret })
        expect(stderr).toMatch(/^authwire: cannot open .*: there is no such database \(ER_BAD_DB_ERROR\): create/)
        expect(stderr).not.toContain("hunter2")
      })

    if (engine === "postgres")
      test("a server that demands encryption", async () => {
        writeFileSync(
          join(server.dataFolder, "pg_hba.conf"),
          "host all postgres 127.0.0.1/32 trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n",
        )
        await query(["SELECT pg_reload_conf()"])
        const { stderr } = await ran(["migrate", "status"])
        expect(stderr).toMatch(
          /: the server does not admit this user without encryption \(no pg_hba\.conf entry for host.*no encryption, 28000\): add sslmode=/,
        )
        expect(await ran(["migrate", "status"], encrypts)).toMatchObject({ code: 0, stderr: "" })
      })
  },
  ownServers(),
)
