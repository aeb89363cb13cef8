import { existsSync } from "node:fs"
import { createDatabase, databaseTargets, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { plainSql } from "@authwire/test-support/databases/plain-sql.js"
import { createUser, dropUser } from "@authwire/test-support/databases/server-sql.js"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import { openSource } from "../../../../import/peer/open.js"
import { openDatabase } from "../../index.js"

if (databaseTargets().includes("postgres")) {
  let database: TestDatabase
  let parts: Record<"USER" | "PASSWORD" | "FOLDER" | "PORT" | "DB", string>

  beforeAll(async () => {
    database = await createDatabase("postgres")
    const { username, pathname, port } = new URL(await createUser(database, "socket_user", "p%40ss"))
    const [row] = await database.query("SELECT current_setting('unix_socket_directories') AS folders")
    const [folder = ""] = String(row?.folders).split(",")
    parts = { USER: username, PASSWORD: "p%2540ss", FOLDER: folder, PORT: port, DB: pathname.slice(1) }
  })
  afterAll(async () => {
    await dropUser(database, "socket_user")
    await database.drop()
  })

  test.each([
    "postgresql://USER:PASSWORD@/DB?host=FOLDER&port=PORT",
    "postgresql://USER:PASSWORD@:PORT/DB?host=FOLDER",
    "postgresql:///DB?host=FOLDER&port=PORT&user=USER&password=PASSWORD",
    "postgres://USER:PASSWORD@localhost/DB?host=FOLDER&port=PORT&sslmode=require",
  ])("a Unix socket in the form of a host: %s", async (form) => {
    // A server on another machine has no socket here.
    if (!existsSync(`${parts.FOLDER}/.s.PGSQL.${parts.PORT}`)) return
    const url = form.replace(/USER|PASSWORD|FOLDER|PORT|DB/g, (name) => parts[name as keyof typeof parts])
    const opened = await openDatabase({ url })
    try {
      const [row] = await opened.reads({}).read(plainSql("SELECT current_user, inet_server_addr()"), [])
      expect(row?.map((cell) => cell && String(cell))).toEqual(["socket_user", null])
    } finally {
      await opened.close()
    }
    const source = await openSource(url)
    expect(await source.tables().finally(() => source.close())).toEqual([])
  })
}
