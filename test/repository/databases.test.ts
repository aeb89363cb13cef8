import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, test } from "@jest/globals"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** The functions of `test/support/databases` that return, or run on, more than one database. */
const severalDatabases = /\b(?:databaseTargets|describeServers|testServersTogether|testOnAllServers|ownServers)\b/

/** What runs on all databases. Everything else is above the store and runs on one, `serviceDatabase()`. */
const onAllDatabases = [
  // The store.
  "server/src/store/sql/",
  // What a connection string means to each server.
  "test/cli/connection-strings.",
  // The readers of imports.
  "server/src/import/peer/",
  "test/import/adapters.",
  "test/import/export.",
  "test/import/kept-rows.",
  "test/import/runs.",
  // The commands of docs/backup.md, which differ between the databases.
  "test/backup/",
  // One sign-in through the whole stack.
  "test/examples/sign-in.test.ts",
  "test/support/databases/",
  "test/repository/databases.test.ts",
]

const files = globSync(["{bench,fuzz,test}/**/*.ts", "{client,server,token}/src/**/*.ts"], {
  cwd: root,
  exclude: (path) => path.endsWith("node_modules"),
}).filter((file) => severalDatabases.test(readFileSync(`${root}/${file}`, "utf8")))

test("what lies above the store is tested on one database", () => {
  expect(files.filter((file) => !onAllDatabases.some((start) => file.startsWith(start)))).toEqual([])
})

test.each(onAllDatabases)("%s uses several databases", (start) => {
  expect(files.filter((file) => file.startsWith(start))).not.toEqual([])
})
