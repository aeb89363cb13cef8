import { tables } from "./0001-tables.js"

/** All migrations, in their order. */
export const migrations = [tables]
