import { firstRelease } from "./0001-first-release.js"

/** All migrations, in their order. */
export const migrations = [firstRelease]
