import { DrizzleAdapter } from "@auth/drizzle-adapter"
import { drizzle } from "drizzle-orm/node-postgres"
import { Pool } from "pg"
import { type Contender, type Endpoints, poolSize, required } from "./contender.ts"

/** As https://authjs.dev/getting-started/adapters/drizzle has it for PostgreSQL, with a pool of pg. */
export function drizzlePostgresAdapter({ databaseUrl }: Endpoints): Contender {
  const pool = new Pool({ connectionString: required(databaseUrl), max: poolSize })
  return { adapter: DrizzleAdapter(drizzle(pool)), close: () => pool.end() }
}
