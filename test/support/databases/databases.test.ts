import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { afterAll, describe, expect, test } from "@jest/globals"
import { createDatabase, createDatabaseOn, databaseTargets, startPrivateDatabase, tcpProxy } from "./databases.js"

describe.each(databaseTargets())("createDatabase on %s", (target) => {
  test("gives each caller an empty database of its own", async () => {
    const first = await createDatabase(target)
    const second = await createDatabase(target)
    await first.query("CREATE TABLE t (a INTEGER)")
    await first.query("INSERT INTO t VALUES (?)", [7])
    expect(await first.query("SELECT a FROM t")).toEqual([{ a: 7 }])
    await expect(second.query("SELECT a FROM t")).rejects.toThrow(/t/)
    await Promise.all([first.drop(), second.drop()])
  })
})

describe("startPrivateDatabase", () => {
  test("a killed server refuses connections, and comes back with its data", async () => {
    const server = await startPrivateDatabase()
    if (server === null) return
    try {
      const database = await createDatabaseOn(server)
      await database.query("CREATE TABLE t (a INTEGER)")
      await server.kill()
      await expect(createDatabaseOn(server)).rejects.toMatchObject({ code: "ECONNREFUSED" })
      await server.start()
      const again = await createDatabaseOn(server)
      expect(await again.query(`SELECT * FROM ${new URL(database.url).pathname.slice(1)}.t`)).toEqual([])
      await again.drop()
    } finally {
      await server.remove()
    }
  })
})

describe("tcpProxy", () => {
  const echo = createServer((socket: Socket) => socket.pipe(socket).on("error", () => {})).listen(0, "127.0.0.1")
  afterAll(() => {
    echo.close()
  })

  test("passes, hangs, and is cut", async () => {
    if (!echo.listening) await once(echo, "listening")
    const address = echo.address()
    if (address === null || typeof address === "string") throw new Error("no port")
    const proxy = await tcpProxy(address.port)
    const socket = connect(proxy.port, "127.0.0.1")
    socket.write("a")
    expect(String((await once(socket, "data"))[0])).toBe("a")
    proxy.hang()
    let late = ""
    socket.on("data", (chunk) => {
      late += chunk
    })
    socket.write("b")
    // No data must arrive. A slow machine cannot make this check fail.
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(late).toBe("")
    await proxy.restore()
    await once(socket, "data")
    expect(late).toBe("b")
    const reset = once(socket, "error")
    await proxy.cut()
    expect((await reset)[0]).toMatchObject({ code: "ECONNRESET" })
    const refused = connect(proxy.port, "127.0.0.1")
    expect((await once(refused, "error"))[0]).toMatchObject({ code: "ECONNREFUSED" })
    await proxy.close()
  })
})
