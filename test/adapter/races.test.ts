import { AuthwireError, createAuthwireClient } from "@authwire/client"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

type Adapter = ReturnType<typeof createAuthwireClient>["adapter"]

// Over the network, with two server processes on one database. SQLite has a single writer at a time in any case.
const target = serviceDatabase()

describe("races between two servers", () => {
  let database: TestDatabase
  let servers: ServerProcess[] = []
  let clients: ReturnType<typeof createAuthwireClient>[] = []
  let serial = 0
  const on = (index: number): Adapter => (clients[index % clients.length] as (typeof clients)[0]).adapter
  const later = () => new Date(Date.now() + 3_600_000)
  const count = async (table: string, column: string, value: string) =>
    Number((await database.query(`SELECT COUNT(*) AS n FROM ${table} WHERE ${column} = ?`, [value]))[0]?.n)
  const settle = async <T>(calls: (() => Promise<T>)[]) => {
    const outcomes = await Promise.allSettled(calls.map((call) => call()))
    const values = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []))
    const errors = outcomes.flatMap((outcome) =>
      outcome.status === "rejected" ? [outcome.reason as AuthwireError] : [],
    )
    for (const error of errors) expect(error).toBeInstanceOf(AuthwireError)
    return { values, reasons: errors.map(({ reason }) => reason) }
  }
  const fifty = <T>(call: (index: number) => Promise<T>) => Array.from({ length: 50 }, (_, index) => () => call(index))

  beforeAll(async () => {
    database = await createDatabase(target)
    servers = [await startServer({ databaseUrl: database.urlOn(0) })]
    servers.push(await startServer({ databaseUrl: database.urlOn(1) }))
    clients = servers.map(({ grpcUrl }) => createAuthwireClient({ url: grpcUrl, timeoutMs: 20_000 }))
  })
  afterAll(async () => {
    for (const client of clients) client.close()
    await Promise.all(servers.map((server) => server.stop()))
    await database.drop()
  })

  test("of 50 concurrent calls of useVerificationToken exactly one gets the token", async () => {
    for (let round = 0; round < 5; round++) {
      const given = { identifier: "ada@example.com", token: crypto.randomUUID(), expires: later() }
      await on(0).createVerificationToken(given)
      const { values, reasons } = await settle(fifty((index) => on(index).useVerificationToken(given)))
      expect(reasons).toEqual([])
      expect(values.filter((value) => value !== null)).toEqual([given])
      expect(await count("verification_tokens", "identifier", given.identifier)).toBe(0)
    }
  })

  test("of 50 concurrent calls of createUser with one e-mail address one succeeds and 49 get ALREADY_EXISTS", async () => {
    const email = `Race-${++serial}@example.com`
    const { values, reasons } = await settle(
      fifty((index) => on(index).createUser({ id: crypto.randomUUID(), email, emailVerified: null })),
    )
    expect(values).toHaveLength(1)
    expect(reasons).toEqual(Array(49).fill("EMAIL_ALREADY_EXISTS"))
    expect(await count("users", "email", email)).toBe(1)
    expect(await on(1).getUserByEmail(email)).toEqual(values[0])
  })
})
