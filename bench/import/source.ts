import type { Connection } from "mysql2/promise"

/** The number of rows that one statement inserts. */
const chunk = 50_000

/** The tables that Prisma creates for its adapter, with three further columns of an application. */
const tables = [
  `CREATE TABLE User (id VARCHAR(191) NOT NULL PRIMARY KEY, name VARCHAR(191), email VARCHAR(191) UNIQUE,
     emailVerified DATETIME(3), image VARCHAR(191), role VARCHAR(191), logins INTEGER NOT NULL DEFAULT 0,
     createdAt DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3))`,
  `CREATE TABLE Account (id VARCHAR(191) NOT NULL PRIMARY KEY, userId VARCHAR(191) NOT NULL, type VARCHAR(191) NOT NULL,
     provider VARCHAR(191) NOT NULL, providerAccountId VARCHAR(191) NOT NULL, refresh_token TEXT, access_token TEXT,
     expires_at INTEGER, token_type VARCHAR(191), scope VARCHAR(191), id_token TEXT, session_state VARCHAR(191),
     UNIQUE (provider, providerAccountId), FOREIGN KEY (userId) REFERENCES User (id) ON DELETE CASCADE ON UPDATE CASCADE)`,
  `CREATE TABLE Session (id VARCHAR(191) NOT NULL PRIMARY KEY, sessionToken VARCHAR(191) NOT NULL UNIQUE,
     userId VARCHAR(191) NOT NULL, expires DATETIME(3) NOT NULL,
     FOREIGN KEY (userId) REFERENCES User (id) ON DELETE CASCADE ON UPDATE CASCADE)`,
]

/** SQL expression for ids like those of cuid: later ids are larger. */
const id = (letter: string, n = "n") =>
  `CONCAT('c${letter}', LPAD(CONV(${n}, 10, 36), 8, '0'), LEFT(SHA2(CONCAT('${letter}', ${n}), 256), 15))`

/** Returns the INSERT statements for the people with the numbers n from `start` to `end` (exclusive). */
const people = (start: number, end: number): readonly string[] => {
  const numbers = `FROM numbers WHERE n >= ${start} AND n < ${end}`
  return [
    `INSERT INTO User SELECT ${id("u")}, CONCAT('Person ', n), CONCAT('person.', n, '@example.com'),
       IF(n % 2 = 0, '2026-01-02 03:04:05.678', NULL), IF(n % 4 = 0, NULL, CONCAT('https://img.example.com/', n)),
       IF(n % 10 = 0, 'admin', 'member'), n % 7, '2025-06-07 08:09:10.111' ${numbers}`,
    `INSERT INTO Account SELECT ${id("a")}, ${id("u")}, 'oauth', IF(n % 2 = 0, 'google', 'github'), CONCAT('1', n),
       IF(n % 2 = 0, CONCAT('1//', SHA2(CONCAT('r', n), 256)), NULL), CONCAT('ya29.', SHA2(n, 256), SHA2(n + 1, 256)),
       1893456000 + n % 1000, 'bearer', 'openid email profile', NULL, NULL ${numbers}`,
    `INSERT INTO Session SELECT ${id("s")}, UUID(), ${id("u")}, '2027-01-02 03:04:05.678' ${numbers}`,
  ]
}

/** Creates the tables and the people, each with an account and a session. */
export async function fillSource(connection: Connection, users: number): Promise<void> {
  for (const table of tables)
    await connection.query(`${table} DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci`)
  await connection.query("CREATE TABLE numbers (n INTEGER PRIMARY KEY)")
  await connection.query("INSERT INTO numbers VALUES (0)")
  for (let size = 1; size < users * 2; size *= 2) {
    await connection.query(`INSERT INTO numbers SELECT n + ${size} FROM numbers`)
  }
  await addPeople(connection, 0, users)
}

export async function addPeople(connection: Connection, start: number, end: number): Promise<void> {
  for (let from = start; from < end; from += chunk) {
    for (const statement of people(from, Math.min(from + chunk, end))) await connection.query(statement)
  }
}

/** Makes the changes of a running application: people sign up, leave, and have their sessions extended. */
export async function changeSource(connection: Connection, users: number, changes: number): Promise<void> {
  await addPeople(connection, users, users + changes)
  const every = Math.floor(users / changes)
  await connection.query("UPDATE Session SET expires = '2027-02-03 04:05:06.789' WHERE id LIKE 'cs0000%' LIMIT ?", [
    changes,
  ])
  // Spread over the whole table, like the sessions of returning people.
  await connection.query(
    `UPDATE Session s JOIN numbers ON s.id = ${id("s")} SET s.expires = '2027-03-04 05:06:07.891' WHERE n < ? AND n % ? = 5`,
    [users, every],
  )
  await connection.query(`DELETE u FROM User u JOIN numbers ON u.id = ${id("u")} WHERE n < ? AND n % ? = 7`, [
    users,
    every * 10,
  ])
}

/**
 * Returns for each table the number of rows in the source, in the target, and of those that SQL finds equal in both.
 */
export async function compareBySql(
  connection: Connection,
  source: string,
  target: string,
): Promise<Record<string, number[]>> {
  const number = async (sql: string) => {
    const [rows] = await connection.query(sql)
    return Number(Object.values((rows as Record<string, unknown>[])[0] ?? {})[0])
  }
  const equal = {
    users: `${source}.User s JOIN ${target}.users t ON t.tenant = 'default' AND t.id = CAST(s.id AS BINARY)
       AND t.email = s.email AND t.name = s.name AND t.email_verified <=> s.emailVerified AND t.image <=> s.image
       AND t.extra LIKE CONCAT('%"role":"', s.role, '","logins":', s.logins, ',%')`,
    accounts: `${source}.Account s JOIN ${target}.accounts t ON t.tenant = 'default' AND t.provider = CAST(s.provider AS BINARY)
       AND t.provider_account_id = CAST(s.providerAccountId AS BINARY) AND t.user_id = CAST(s.userId AS BINARY)
       AND t.expires_at = s.expires_at AND (t.refresh_token IS NULL) = (s.refresh_token IS NULL)
       AND t.access_token LIKE 'sealed.1.%'`,
    sessions: `${source}.Session s JOIN ${target}.sessions t ON t.tenant = 'default'
       AND t.token_hash = UNHEX(SHA2(s.sessionToken, 256)) AND t.user_id = CAST(s.userId AS BINARY) AND t.expires = s.expires`,
  }
  const names = { users: "User", accounts: "Account", sessions: "Session" }
  const found: Record<string, number[]> = {}
  for (const [table, join] of Object.entries(equal)) {
    found[table] = [
      await number(`SELECT COUNT(*) FROM ${source}.${names[table as keyof typeof names]}`),
      await number(`SELECT COUNT(*) FROM ${target}.${table}`),
      await number(`SELECT COUNT(*) FROM ${join}`),
    ]
  }
  return found
}
