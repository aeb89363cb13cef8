import { initial } from "./0001-initial.js"

/** All migrations, in their order. */
export const migrations = [initial]
