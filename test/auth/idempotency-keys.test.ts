import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { SessionService, UserService } from "@authwire/proto"
import { errorOf, frame, messageOf, openBarePipeline } from "@authwire/test-support/connections/bare-pipeline.js"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals"

// An attacker has learned the idempotency key of another caller's call, or of an earlier one, and wants its response.
// The response may contain tokens of a provider, or sign the attacker in.
const target = serviceDatabase()

describe("with the idempotency key of another call", () => {
  const victim = staticKey(["all"])
  const colleague = staticKey(["all"])
  const stranger = staticKey(["all"], { tenant: "stranger" })
  let database: TestDatabase
  let server: ServerProcess
  const clients: AuthwireClient[] = []

  const clientOf = (key: { text: string }) => {
    const client = createAuthwireClient({ url: server.grpcUrl, apiKey: key.text })
    clients.push(client)
    return client
  }
  const count = async (table: string) => Number((await database.query(`SELECT COUNT(*) AS n FROM ${table}`))[0]?.n)
  const newKey = () => ({ headers: { "idempotency-key": crypto.randomUUID() } })
  const reused = { code: 9, message: expect.stringContaining("used for another request") }

  beforeAll(async () => {
    database = await createDatabase(target)
    const env = { AUTHWIRE_API_KEYS: JSON.stringify([victim, colleague, stranger].map(({ entry }) => entry)) }
    server = await startServer({ databaseUrl: database.url, keys: false, env })
  })
  afterEach(() => {
    for (const client of clients.splice(0)) client.close()
  })
  afterAll(async () => {
    await server.stop()
    await database.drop()
  })

  test("another API key, of the same tenant or of another one, gets nothing, and cannot see that the key was used", async () => {
    const link = { identifier: "ada@example.com", token: crypto.randomUUID() }
    const options = newKey()
    const expires = { seconds: 4_000_000_000n, nanos: 0 }
    await clientOf(victim).verificationTokens.createVerificationToken({ ...link, expires })
    await clientOf(victim).verificationTokens.useVerificationToken(link, options)
    for (const other of [stranger, colleague]) {
      await expect(clientOf(other).verificationTokens.useVerificationToken(link, options)).rejects.toMatchObject({
        code: 5,
      })
      const id = crypto.randomUUID()
      expect((await clientOf(other).users.createUser({ id }, options)).user?.id).toBe(id)
    }
  })

  test("the same API key gets no response of another request: neither of another method nor of another message. No output has the key", async () => {
    const [options, id] = [newKey(), crypto.randomUUID()]
    const client = clientOf(victim)
    await client.users.createUser({ id, email: `${id}@example.com` }, options)
    const before = await count("users")
    // The service may answer them in any order.
    const outcomes = await Promise.allSettled([
      client.users.createUser({ id }, options),
      client.users.createUser({ id: crypto.randomUUID() }, options),
      client.users.updateUser({ id, email: "b@example.com", updateMask: { paths: ["email"] } }, options),
      client.users.deleteUser({ id }, options),
      client.sessions.deleteSession({ sessionToken: "none" }, options),
    ])
    for (const outcome of outcomes) expect(outcome).toMatchObject({ status: "rejected", reason: reused })
    expect(await count("users")).toBe(before)
    for (const text of [JSON.stringify(outcomes), server.output()])
      expect(text).not.toContain(options.headers["idempotency-key"])
  })

  test("an idempotency key in the header of a pipeline applies to none of its calls", async () => {
    const header = { authorization: `Bearer ${victim.text}`, "idempotency-key": crypto.randomUUID() }
    const stream = openBarePipeline(server.grpcUrl, header)
    const { createUser } = UserService.method
    const own = { header: { "idempotency-key": crypto.randomUUID() } }
    stream.send({ calls: [frame(1, createUser, { name: "one" }), frame(2, createUser, { name: "two" })] })
    const [one, two] = (await stream.answers(2)).map((answer) => messageOf(createUser, answer).user)
    expect(new Set([one?.name, two?.name])).toEqual(new Set(["one", "two"]))
    stream.send({ calls: [frame(3, createUser, { name: "three" }, own)] })
    const [three] = (await stream.answers(1)).map((answer) => messageOf(createUser, answer).user)
    stream.send({ calls: [frame(4, createUser, { name: "three" }, own)] })
    expect((await stream.answers(1)).map((answer) => messageOf(createUser, answer).user)).toEqual([three])
    stream.send({ calls: [frame(5, SessionService.method.deleteSession, { sessionToken: "s" }, own)] })
    const [rejected] = await stream.answers(1)
    expect(errorOf(rejected as NonNullable<typeof rejected>).reason).toBe("IDEMPOTENCY_KEY_REUSED")
    stream.cancel()
  })
})
