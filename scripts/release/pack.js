// pack.js FOLDER: packs everything that a release publishes, and removes what an earlier run packed. Needs a build.
import { rmSync } from "node:fs"
import { resolve } from "node:path"
import { packAll } from "./packages.js"

const [folder = "build/packages"] = process.argv.slice(2)
rmSync(folder, { recursive: true, force: true })
for (const [name, file] of packAll(resolve(folder))) console.log(`${name}: ${file}`)
