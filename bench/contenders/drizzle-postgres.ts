import { DrizzleAdapter } from "@auth/drizzle-adapter"
import { drizzle } from "drizzle-orm/node-postgres"
import { Pool } from "pg"
import { type Contender, type Endpoints, poolSize, required } from "./contender.ts"

/** Set up as in https://authjs.dev/getting-started/adapters/drizzle for PostgreSQL, with a pool of pg. */
export function drizzlePostgresAdapter({ databaseUrl }: Endpoints): Contender {
  const pool = new Pool({ connectionString: required(databaseUrl), max: poolSize })
  return { adapter: DrizzleAdapter(drizzle(pool)), close: () => pool.end() }
}
