// Writes the pages of docs/ that are made from code (see scripts/gen).
import { writeFileSync } from "node:fs"
import { configurationPage } from "../server/dist/cli/help.js"

writeFileSync(new URL("../docs/configuration.md", import.meta.url), configurationPage())
