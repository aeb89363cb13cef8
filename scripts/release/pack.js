// pack.js FOLDER: packs everything that a release publishes, and removes what an earlier run packed. Needs a build.
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs"
import { basename, join, resolve } from "node:path"
import { packAll } from "./packages.js"

const folder = resolve(process.argv[2] ?? "build/packages")
mkdirSync(folder, { recursive: true })
const made = mkdtempSync(`${folder}-`)
try {
  const packed = [...packAll(made)].map(([name, file]) => ({ name, file, to: join(folder, basename(file)) }))
  // Each file takes the place of its predecessor at once, because another program may be installing it.
  for (const { name, file, to } of packed) {
    renameSync(file, to)
    console.log(`${name}: ${to}`)
  }
  const current = packed.map(({ to }) => basename(to))
  for (const file of readdirSync(folder)) if (!current.includes(file)) rmSync(join(folder, file))
} finally {
  rmSync(made, { recursive: true, force: true })
}
