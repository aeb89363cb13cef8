import { spawnSync } from "node:child_process"
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "@jest/globals"

const config = fileURLToPath(new URL("../../biome.json", import.meta.url))

/** Whether the linter rejects an import in a file at that path. */
function rejected(file: string, module: string): boolean {
  const folder = mkdtempSync(join(tmpdir(), "authwire-walls-"))
  try {
    copyFileSync(config, join(folder, "biome.json"))
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), `import "${module}"\n`)
    const lint = spawnSync("biome", ["lint", "--vcs-enabled=false", file], { cwd: folder, encoding: "utf8" })
    const output = lint.stdout + lint.stderr
    if (!output.includes("Checked 1 file")) throw new Error(output)
    return output.includes("lint/style/noRestrictedImports")
  } finally {
    rmSync(folder, { recursive: true })
  }
}

// The module boundaries of the design, as enforced by the linter.
test.each([
  ["server/src/services/x.ts", "typeorm"],
  ["server/src/services/x.ts", "../store/sql/index.js"],
  ["server/src/services/x.ts", "@authwire/client"],
  ["server/src/transport/x.ts", "mysql2/promise"],
  ["server/src/rpc/x.ts", "libsql"],
  ["server/src/store/x.ts", "@authwire/proto"],
  ["server/src/store/x.ts", "typeorm"],
  ["server/src/store/sql/x.ts", "@bufbuild/protobuf"],
  ["server/src/store/sql/x.ts", "../../services/wire.js"],
  ["server/src/x.ts", "@authwire/client"],
  ["client/src/x.ts", "@authwire/server"],
  ["client/src/x.ts", "../../server/src/errors.js"],
  ["token/src/x.ts", "@authwire/proto"],
  ["token/src/x.ts", "node:crypto"],
])("%s must not import %s", (file, module) => {
  expect(rejected(file, module)).toBe(true)
})

test.each([
  ["server/src/services/x.ts", "../store/store.js"],
  ["server/src/store/sql/x.ts", "typeorm"],
  ["server/src/bootstrap/x.ts", "../store/sql/index.js"],
  ["client/src/x.ts", "@authwire/proto"],
])("%s may import %s", (file, module) => {
  expect(rejected(file, module)).toBe(false)
})

test.each(["client", "examples/express", "server", "token"])("%s imports from no other package's folder", (folder) => {
  const root = fileURLToPath(new URL(`../../${folder}`, import.meta.url))
  const files = globSync("{src,test,vectors}/**/*.ts", { cwd: root })
  expect(files.length).toBeGreaterThan(5)
  const outside = files.flatMap((file) =>
    [...readFileSync(join(root, file), "utf8").matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)]
      .map(([, module = ""]) => join(dirname(file), module))
      .filter((path) => path.startsWith("..") && !path.includes("node_modules"))
      .map((path) => `${file}: ${path}`),
  )
  expect(outside).toEqual([])
})
