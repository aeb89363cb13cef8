// Writes the pages of docs/ that are generated from code, in whole or in part (see scripts/gen).
import { readFileSync, writeFileSync } from "node:fs"
import { errorsPage } from "./errors-page.ts"
import { floorsPicture } from "./floors-picture.js"
import { configurationPage, withExcerpts, withMigrations, withVersions } from "./generated-pages.ts"
import { limitsPage } from "./limits-page.ts"

const docs = new URL("../docs/", import.meta.url)
const write = (name, text) => writeFileSync(new URL(name, docs), text)
const update = (name, updated) => write(name, updated(readFileSync(new URL(name, docs), "utf8")))

write("configuration.md", configurationPage())
write("errors.md", errorsPage())
write("limits.md", limitsPage())
update("upgrading.md", withMigrations)
update("stability.md", withVersions)
update("other-languages.md", withExcerpts)
write("images/floors.svg", floorsPicture())
