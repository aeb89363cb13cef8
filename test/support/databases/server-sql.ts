import type { TestDatabase } from "./databases.js"

// Server operations that each engine expresses differently. Not for SQLite.

const nameOf = ({ url }: TestDatabase) => new URL(url).pathname.slice(1)

/** Returns the statements that other connections to the database are running. */
export async function activeStatements(database: TestDatabase): Promise<string[]> {
  if (database.target === "postgres") {
    // In a transaction the view does not change after its first use.
    await database.query("SELECT pg_stat_clear_snapshot()")
    const others = "datname = current_database() AND pid <> pg_backend_pid() AND state = 'active'"
    const rows = await database.query(`SELECT query FROM pg_stat_activity WHERE ${others}`)
    return rows.map(({ query }) => String(query))
  }
  const rows = await database.query("SHOW PROCESSLIST")
  return rows
    .filter(({ db, Info }) => db === nameOf(database) && Info !== null && Info !== "SHOW PROCESSLIST")
    .map(({ Info }) => String(Info))
}

/** Closes all connections to the database except this one, or those of one user. Returns their number. */
export async function endConnections(database: TestDatabase, user?: string): Promise<number> {
  if (database.target === "postgres") {
    const others = "datname = current_database() AND pid <> pg_backend_pid() AND usename = coalesce(?, usename)"
    const sql = `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE ${others}`
    return (await database.query(sql, [user ?? null])).length
  }
  // Not from information_schema.processlist: MySQL cannot convert a statement with bytes that another connection is running.
  const rows = await database.query("SHOW PROCESSLIST")
  const [own] = await database.query("SELECT CONNECTION_ID() AS id")
  const others = rows.filter(
    ({ db, User, Id }) => db === nameOf(database) && User === (user ?? User) && Number(Id) !== Number(own?.id),
  )
  // The connection may have ended already.
  for (const { Id } of others) await database.query(`KILL ${Number(Id)}`).catch(() => {})
  return others.length
}

/** Blocks reads and writes of a table by other connections until the returned function is called. */
export async function lockTable(database: TestDatabase, table: string): Promise<() => Promise<unknown>> {
  if (database.target === "postgres") {
    await database.query("BEGIN")
    await database.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
    return () => database.query("COMMIT")
  }
  await database.query(`LOCK TABLES ${table} WRITE`)
  return () => database.query("UNLOCK TABLES")
}

/**
 * Creates a server user with all privileges on the database, or with the right to read the existing tables. Returns the
 * database's URL with that user.
 */
export async function createUser(
  database: TestDatabase,
  name: string,
  password: string,
  rights: "ALL" | "SELECT" = "ALL",
): Promise<string> {
  if (database.target === "postgres") {
    await database.query(`CREATE ROLE "${name}" LOGIN PASSWORD '${password}'`)
    if (rights === "ALL") await database.query(`ALTER DATABASE ${nameOf(database)} OWNER TO "${name}"`)
    // Grants access to the existing objects.
    for (const kind of ["TABLES", "SEQUENCES"]) {
      await database.query(`GRANT ${rights} ON ALL ${kind} IN SCHEMA public TO "${name}"`)
    }
  } else {
    await database.query(`CREATE USER '${name}'@'%' IDENTIFIED BY '${password}'`)
    await database.query(`GRANT ${rights} ON ${nameOf(database)}.* TO '${name}'@'%'`)
  }
  const user = { username: encodeURIComponent(name), password: encodeURIComponent(password) }
  return Object.assign(new URL(database.url), user).href
}

/** Drops a user, and on PostgreSQL the objects in its database. */
export async function dropUser(database: TestDatabase, name: string): Promise<void> {
  if (database.target === "postgres") {
    await database.query(`ALTER DATABASE ${nameOf(database)} OWNER TO CURRENT_USER`)
    await database.query(`DROP OWNED BY "${name}"`)
    await database.query(`DROP ROLE "${name}"`)
  } else await database.query(`DROP USER '${name}'@'%'`)
}

/** A barrier at which statements block while it is closed. */
export interface Barrier {
  /** An SQL condition that blocks until the barrier is open, and is then true. */
  readonly isOpen: string
  /** Makes every update of `users` block at the barrier too. */
  stopUpdates(): Promise<unknown>
  close(): Promise<unknown>
  open(): Promise<unknown>
}

/**
 * Creates an open barrier. A database has one. It does not use a lock that the service knows, because a call that meets
 * such a lock waits in the service, where the test cannot observe it.
 */
export async function barrier(database: TestDatabase): Promise<Barrier> {
  if (database.target !== "postgres") {
    const isOpen = "GET_LOCK(DATABASE(), 60) = 1 AND RELEASE_LOCK(DATABASE()) = 1"
    return {
      isOpen,
      stopUpdates: () =>
        database.query(
          `CREATE TRIGGER IF NOT EXISTS stopped BEFORE UPDATE ON users FOR EACH ROW
           SET NEW.id = IF(${isOpen}, NEW.id, NULL)`,
        ),
      close: () => database.query("DO GET_LOCK(DATABASE(), 60)"),
      open: () => database.query("DO RELEASE_LOCK(DATABASE())"),
    }
  }
  await database.query(
    `CREATE OR REPLACE FUNCTION barrier_is_open() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
       WHILE NOT pg_try_advisory_xact_lock_shared(1) LOOP PERFORM pg_sleep(0.01); END LOOP;
       RETURN true;
     END $$`,
  )
  return {
    isOpen: "barrier_is_open()",
    async stopUpdates() {
      await database.query(
        `CREATE OR REPLACE FUNCTION stopped() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           PERFORM barrier_is_open();
           RETURN NEW;
         END $$`,
      )
      await database.query(
        "CREATE OR REPLACE TRIGGER stopped BEFORE UPDATE ON users FOR EACH ROW EXECUTE FUNCTION stopped()",
      )
    },
    close: () => database.query("SELECT pg_advisory_lock(1)"),
    open: () => database.query("SELECT pg_advisory_unlock(1)"),
  }
}
