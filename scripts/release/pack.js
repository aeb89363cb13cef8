// pack.js FOLDER: packs everything that a release publishes. Needs a build.
import { resolve } from "node:path"
import { packAll } from "./packages.js"

const [folder = "build/release"] = process.argv.slice(2)
for (const [name, file] of packAll(resolve(folder))) console.log(`${name}: ${file}`)
