import type { TestDatabase } from "./databases.js"

/** Counts the rows of a table that any UPDATE of any connection matches, with a trigger. At most one per table. */
export async function updateCounter(database: TestDatabase, table: string): Promise<() => Promise<number>> {
  const counted = `updates_of_${table}`
  await database.query(`CREATE TABLE ${counted} (n INTEGER)`)
  const count = `INSERT INTO ${counted} VALUES (1)`
  const trigger = `CREATE TRIGGER count_${counted} AFTER UPDATE ON ${table} FOR EACH ROW`
  if (database.target === "postgres") {
    await database.query(
      `CREATE FUNCTION count_${counted}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${count}; RETURN NULL; END $$`,
    )
    await database.query(`${trigger} EXECUTE FUNCTION count_${counted}()`)
  } else await database.query(`${trigger} ${database.target === "sqlite" ? `BEGIN ${count}; END` : count}`)
  return async () => Number((await database.query(`SELECT COUNT(*) AS n FROM ${counted}`))[0]?.n)
}
