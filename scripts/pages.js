// Writes the pages of docs/ that are generated from code, in whole or in part (see scripts/gen).
import { readFileSync, writeFileSync } from "node:fs"
import { errorsPage } from "./errors-page.ts"
import { floorsPicture } from "./floors-picture.js"
import { configurationPage, withMigrations } from "./generated-pages.ts"
import { limitsPage } from "./limits-page.ts"

const upgrading = new URL("../docs/upgrading.md", import.meta.url)
writeFileSync(new URL("../docs/configuration.md", import.meta.url), configurationPage())
writeFileSync(new URL("../docs/errors.md", import.meta.url), errorsPage())
writeFileSync(new URL("../docs/limits.md", import.meta.url), limitsPage())
writeFileSync(upgrading, withMigrations(readFileSync(upgrading, "utf8")))
writeFileSync(new URL("../docs/images/floors.svg", import.meta.url), floorsPicture())
