import { tables } from "./0001-tables.js"
import { usersCreated } from "./0002-users-created.js"

/** All migrations, in their order. */
export const migrations = [tables, usersCreated]
