import { createDatabase, databaseTargets, describeServers } from "@authwire/test-support/databases/databases.js"
import { expect, test } from "@jest/globals"
import { parseDatabaseUrl, type ServerLocation } from "../../store/sql/index.js"
import { mysqlSource } from "./mysql.js"
import { jsonReader } from "./values.js"

// MariaDB has no type for JSON: there such a column is text.
const servers = databaseTargets().filter((target) => target === "mysql")

describeServers(
  "a column of JSON, on %s",
  (engine) => {
    test("is read as it is, also if it is a string that looks like JSON itself", async () => {
      const values = ["1", "true", "null", "[1]", "plain", 1, true, null, { a: ["1", 1] }]
      const database = await createDatabase(engine)
      try {
        await database.query("CREATE TABLE user (id int PRIMARY KEY, data json)")
        for (const [id, value] of values.entries()) {
          await database.query("INSERT INTO user VALUES (?, CAST(? AS json))", [id, JSON.stringify(value)])
        }
        const source = await mysqlSource(parseDatabaseUrl(database.url) as ServerLocation)
        try {
          const table = await source.describe("user")
          const { rows } = await source.page(table, undefined, 100)
          const read = jsonReader(table.columns[1]?.type ?? "")
          expect(rows.map(([, data]) => read(data, "Z"))).toEqual(values)
        } finally {
          await source.close()
        }
      } finally {
        await database.drop()
      }
    })
  },
  servers,
)
