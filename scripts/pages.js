// Writes the pages of docs/ that are made from code, or have a part that is (see scripts/gen).
import { readFileSync, writeFileSync } from "node:fs"
import { configurationPage } from "../server/dist/cli/help.js"
import { withMigrations } from "../server/dist/cli/upgrading-page.js"

const upgrading = new URL("../docs/upgrading.md", import.meta.url)
writeFileSync(new URL("../docs/configuration.md", import.meta.url), configurationPage())
writeFileSync(upgrading, withMigrations(readFileSync(upgrading, "utf8")))
