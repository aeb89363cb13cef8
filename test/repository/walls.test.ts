import { spawnSync } from "node:child_process"
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import { floors } from "../../scripts/floors.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** A file that the test adds to a copy of the sources, the import that it contains, and the rule that forbids it. */
type Import = readonly [file: string, module: string, rule: string]

const forbidden: readonly Import[] = [
  ["server/src/services/x.ts", "typeorm", "database-outside-of-store"],
  ["server/src/services/x.ts", "../store/sql/index.js", "database-outside-of-store"],
  ["server/src/services/x.ts", "../transport/listener/listen.js", "above-services"],
  ["server/src/services/x.ts", "@authwire/client", "client-in-server"],
  ["server/src/transport/x.ts", "mysql2/promise", "database-outside-of-store"],
  ["server/src/rpc/x.ts", "../services/session.js", "above-rpc"],
  ["server/src/auth/x.ts", "../rpc/router.js", "above-auth"],
  ["server/src/store/x.ts", "@authwire/proto", "wire-in-store"],
  ["server/src/store/x.ts", "../errors/failure.js", "wire-in-store"],
  ["server/src/store/x.ts", "typeorm", "database-in-interface"],
  ["server/src/store/sql/x.ts", "@bufbuild/protobuf", "wire-in-store"],
  ["server/src/errors/x.ts", "../store/store.js", "above-errors"],
  ["client/src/x.ts", "@authwire/server", "server-in-client"],
  ["client/src/x.ts", "../../server/src/errors/failure.js", "server-in-client"],
  ["token/src/x.ts", "@authwire/proto", "edge-runtimes"],
  ["token/src/x.ts", "node:crypto", "node-in-token"],
]

/** Imports that close a circle of two folders, one of them of a type only. */
const circles: readonly (readonly [file: string, text: string])[] = [
  ["server/src/events/y.ts", 'import type { Hub } from "../session-cache/z.js"\nexport type Y = Hub\n'],
  ["server/src/session-cache/z.ts", 'export type Hub = string\nexport { y } from "../events/w.js"\n'],
  ["server/src/events/w.ts", "export const y = 1\n"],
]

const allowed: readonly Import[] = [
  ["server/src/services/x.ts", "../store/store.js", ""],
  ["server/src/store/sql/x.ts", "typeorm", ""],
  ["server/src/bootstrap/x.ts", "../store/sql/index.js", ""],
  ["client/src/x.ts", "@authwire/proto", ""],
]

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "authwire-walls-"))
  for (const path of [
    ".dependency-cruiser.js",
    "scripts/floors.ts",
    "package.json",
    "gen/ts",
    "server/src",
    "client/src",
    "token/src",
  ])
    cpSync(join(root, path), join(folder, path), { recursive: true })
  // The packages of this project are left out: imports of them are checked by their names.
  mkdirSync(join(folder, "node_modules"))
  for (const name of readdirSync(join(root, "node_modules")).filter((name) => name !== "@authwire"))
    symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name))
})

afterAll(() => rmSync(folder, { recursive: true }))

/** Adds files to the copy, and returns what the linter says. */
function lint(files: ReadonlyMap<string, string>): string {
  for (const [file, text] of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  try {
    const args = ["--config", ".dependency-cruiser.js", "--output-type", "err", "server/src", "client/src", "token/src"]
    return spawnSync("depcruise", args, { cwd: folder, encoding: "utf8" }).stdout
  } finally {
    for (const file of files.keys()) rmSync(join(folder, file))
  }
}

function filesOf(imports: readonly Import[]): Map<string, string> {
  const files = new Map<string, string>()
  for (const [file, module] of imports) files.set(file, `${files.get(file) ?? ""}import "${module}"\n`)
  return files
}

// The directions of the design, as the linter enforces them.
test("no import crosses a wall, and no two folders import each other, not even a type", () => {
  const rules = lint(new Map([...filesOf(forbidden), ...circles])).split("\n")
  const found = forbidden.filter(([file, , rule]) => rules.some((line) => line.includes(`error ${rule}: ${file} `)))
  expect(found).toEqual(forbidden)
  expect(rules).toContainEqual(expect.stringContaining("error circle-of-folders: server/src/events"))
})

test("allowed imports, and the sources as they are, cross no wall", () => {
  expect(lint(filesOf(allowed))).toContain("no dependency violations found")
})

test("every folder of server/src is on one floor", () => {
  const folders = readdirSync(join(root, "server/src"), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(floors.flatMap((floor) => floor.folders).sort()).toEqual(folders.map(({ name }) => name).sort())
})

test.each(["client", "examples/express", "server", "token"])("%s imports from no other package's folder", (name) => {
  const packageRoot = join(root, name)
  const files = globSync("{src,test,vectors}/**/*.ts", { cwd: packageRoot })
  expect(files.length).toBeGreaterThan(5)
  const outside = files.flatMap((file) =>
    [...readFileSync(join(packageRoot, file), "utf8").matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)]
      .map(([, module = ""]) => join(dirname(file), module))
      .filter((path) => path.startsWith("..") && !path.includes("node_modules"))
      .map((path) => `${file}: ${path}`),
  )
  expect(outside).toEqual([])
})
