import { tables } from "./0001-tables.js"
import { lists } from "./0002-lists.js"

/** All migrations, in their order. */
export const migrations = [tables, lists]
