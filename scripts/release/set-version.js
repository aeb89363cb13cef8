// set-version.js VERSION [ROOT]: writes a new version wherever that of the release stands. Then run `make gen`. Tests
// pass another folder.
import { root as here } from "./packages.js"
import { everyVersion } from "./versions.js"

const [version = "", root = here] = process.argv.slice(2)
if (!/^\d+\.\d+\.\d+(-[a-z]+\.\d+)?$/.test(version)) throw new Error("VERSION: must be one as 1.2.3 or 1.2.3-rc.1")

const former = new Map()
everyVersion(root, (told, file) => {
  former.set(file, told)
  return version
})
for (const [file, told] of former) console.log(`${file}: ${told} -> ${version}`)
