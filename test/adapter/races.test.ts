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
  const newUser = () =>
    on(0).createUser({ id: crypto.randomUUID(), email: `user-${++serial}@example.com`, emailVerified: null })
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
  const shuffle = <T>(list: T[]) =>
    list
      .map((one) => [Math.random(), one] as const)
      .sort(([a], [b]) => a - b)
      .map(([, one]) => one)

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

  test("of 50 equal calls with one idempotency key one is executed, and all get its response", async () => {
    for (let round = 0; round < 3; round++) {
      const [name, options] = [crypto.randomUUID(), { headers: { "idempotency-key": crypto.randomUUID() } }]
      const calls = fifty((index) => (clients[index % 2] as (typeof clients)[0]).users.createUser({ name }, options))
      const answers = await Promise.all(calls.map((call) => call()))
      expect(new Set(answers.map(({ user }) => user?.id)).size).toBe(1)
      expect(await count("users", "name", name)).toBe(1)
    }
  })

  test("concurrent linkAccount to two users links one", async () => {
    const users = [await newUser(), await newUser()]
    const key = { provider: "example", providerAccountId: crypto.randomUUID() }
    const { values, reasons } = await settle(
      fifty((index) => {
        const user = users[index % 2] as (typeof users)[0]
        return on(index >> 1).linkAccount({ ...key, type: "oauth", userId: user.id })
      }),
    )
    const winner = await on(0).getUserByAccount(key)
    expect(await count("accounts", "provider_account_id", key.providerAccountId)).toBe(1)
    expect(values.map((account) => (account as { userId: string }).userId)).toEqual(Array(25).fill(winner?.id))
    expect(reasons).toEqual(Array(25).fill("ACCOUNT_LINKED_TO_ANOTHER_USER"))
  })

  test("the counter ends at the highest value after updates in random order", async () => {
    const user = await newUser()
    const credentialID = crypto.randomUUID()
    await on(0).createAuthenticator({
      credentialID,
      userId: user.id,
      providerAccountId: "a",
      credentialPublicKey: "k",
      counter: 0,
      credentialDeviceType: "singleDevice",
      credentialBackedUp: false,
    })
    const counters = shuffle(Array.from({ length: 50 }, (_, index) => index + 1))
    const { reasons } = await settle(
      fifty((i) => on(i).updateAuthenticatorCounter(credentialID, counters[i] as number)),
    )
    for (const reason of reasons) expect(reason).toBe("COUNTER_REGRESSION")
    expect((await on(1).getAuthenticator(credentialID))?.counter).toBe(50)
  })

  test("updateSession concurrent with deleteSession never restores the row", async () => {
    const user = await newUser()
    for (let round = 0; round < 20; round++) {
      const sessionToken = crypto.randomUUID()
      await on(0).createSession({ sessionToken, userId: user.id, expires: later() })
      const updates = Array.from(
        { length: 6 },
        (_, index) => () => on(index).updateSession({ sessionToken, expires: later() }),
      )
      const { reasons } = await settle<unknown>(shuffle([...updates, () => on(round).deleteSession(sessionToken)]))
      expect(reasons).toEqual([])
      expect(await count("sessions", "user_id", user.id)).toBe(0)
    }
  })

  test("deleteUser concurrent with createSession, linkAccount and createAuthenticator leaves no orphan", async () => {
    for (let round = 0; round < 10; round++) {
      const user = await newUser()
      const children = Array.from({ length: 12 }, (_, index) => {
        const id = crypto.randomUUID()
        return [
          () => on(index).createSession({ sessionToken: id, userId: user.id, expires: later() }),
          () =>
            on(index).linkAccount({ provider: "p", providerAccountId: id, type: "oauth" as const, userId: user.id }),
          () =>
            on(index).createAuthenticator({
              credentialID: id,
              userId: user.id,
              providerAccountId: "a",
              credentialPublicKey: "k",
              counter: 0,
              credentialDeviceType: "singleDevice",
              credentialBackedUp: false,
            }),
        ]
      }).flat() as (() => Promise<unknown>)[]
      const { reasons } = await settle(shuffle([...children, () => on(round).deleteUser(user.id)]))
      for (const reason of reasons) expect(reason).toBe("USER_NOT_FOUND")
      expect(await count("users", "id", user.id)).toBe(0)
      for (const table of ["sessions", "accounts", "authenticators"])
        expect(await count(table, "user_id", user.id)).toBe(0)
    }
  })
})
