import { DrizzleAdapter } from "@auth/drizzle-adapter"
import { drizzle } from "drizzle-orm/mysql2"
import { createPool } from "mysql2/promise"
import { type Contender, type Endpoints, poolSize, required } from "./contender.ts"

/** Set up as in https://authjs.dev/getting-started/adapters/drizzle for MySQL, with a pool of mysql2. */
export function drizzleAdapter({ databaseUrl }: Endpoints): Contender {
  const pool = createPool({ uri: required(databaseUrl), connectionLimit: poolSize })
  return { adapter: DrizzleAdapter(drizzle(pool)), close: () => pool.end() }
}
