import { AuthwireError, createAuthwireClient } from "@authwire/client"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import * as fc from "fast-check"

type Adapter = ReturnType<typeof createAuthwireClient>["adapter"]

interface Operation {
  name: string
  run(adapter: Adapter, mark: string): Promise<unknown>
}

const runs = 15
const expires = new Date(Date.now() + 3_600_000)
// Few values, so that operations meet.
const name = fc.constantFrom("a", "b")
const email = fc.constantFrom("a@example.com", "A@Example.com", "b@example.com")

function operation<T>(
  kind: string,
  given: fc.Arbitrary<T>,
  run: (adapter: Adapter, given: T, mark: string) => unknown,
): fc.Arbitrary<Operation> {
  return given.map((value) => ({
    name: `${kind} ${JSON.stringify(value)}`,
    run: async (adapter, mark) => await run(adapter, value, mark),
  }))
}

const operations = fc.oneof(
  operation("createUser", fc.record({ id: name, email }), (adapter, user, of) =>
    adapter.createUser({ ...user, emailVerified: null, name: of, of } as never),
  ),
  operation("getUser", name, (adapter, id) => adapter.getUser(id)),
  operation("getUserByEmail", email, (adapter, address) => adapter.getUserByEmail(address)),
  operation("getUserByAccount", name, (adapter, id) =>
    adapter.getUserByAccount({ provider: "p", providerAccountId: id }),
  ),
  operation("updateUser", fc.record({ id: name, email }), (adapter, user) => adapter.updateUser(user)),
  operation("deleteUser", name, (adapter, id) => adapter.deleteUser(id)),
  operation("linkAccount", fc.record({ userId: name, providerAccountId: name }), (adapter, account, of) =>
    adapter.linkAccount({ ...account, provider: "p", type: "oidc", access_token: of, of }),
  ),
  operation("getAccount", name, (adapter, id) => adapter.getAccount(id, "p")),
  operation("unlinkAccount", name, (adapter, id) => adapter.unlinkAccount({ provider: "p", providerAccountId: id })),
  operation("createSession", fc.record({ sessionToken: name, userId: name }), (adapter, session, of) =>
    adapter.createSession({ ...session, expires, of } as never),
  ),
  operation("getSessionAndUser", name, (adapter, token) => adapter.getSessionAndUser(token)),
  operation("updateSession", fc.record({ sessionToken: name, userId: name }), (adapter, session) =>
    adapter.updateSession(session),
  ),
  operation("deleteSession", name, (adapter, token) => adapter.deleteSession(token)),
  operation("createVerificationToken", fc.record({ identifier: name, token: name }), (adapter, key) =>
    adapter.createVerificationToken({ ...key, expires }),
  ),
  operation("useVerificationToken", fc.record({ identifier: name, token: name }), (adapter, key) =>
    adapter.useVerificationToken(key),
  ),
  operation("createAuthenticator", fc.record({ credentialID: name, userId: name }), (adapter, given, of) =>
    adapter.createAuthenticator({
      ...given,
      ...{ providerAccountId: of, credentialPublicKey: "k", counter: 1 },
      ...{ credentialDeviceType: "singleDevice", credentialBackedUp: false },
    }),
  ),
  operation("getAuthenticator", name, (adapter, id) => adapter.getAuthenticator(id)),
  operation("listAuthenticatorsByUserId", name, (adapter, id) => adapter.listAuthenticatorsByUserId(id)),
  operation("updateAuthenticatorCounter", fc.record({ id: name, to: fc.nat(3) }), (adapter, { id, to }) =>
    adapter.updateAuthenticatorCounter(id, to),
  ),
)

// The results of an application, including error messages, must be the same whether or not another tenant does the same
// with the same names. Each run uses three new tenants.
const target = serviceDatabase()

describe("over the wire", () => {
  let database: TestDatabase
  let server: ServerProcess
  const keys = Array.from({ length: runs * 3 }, (_, index) => staticKey(["all"], { tenant: `t${index}` }))

  beforeAll(async () => {
    database = await createDatabase(target)
    server = await startServer({
      databaseUrl: database.url,
      keys: false,
      args: ["--log-level=warn", "--audit-log=off"],
      env: { AUTHWIRE_API_KEYS: JSON.stringify(keys.map(({ entry }) => entry)) },
    })
  })
  afterAll(async () => {
    await server.stop()
    await database.drop()
  })

  test("a tenant gets the same results as it would get alone", async () => {
    let next = 0
    const step = fc.record({ mine: fc.boolean(), operation: operations })
    const steps = fc.array(step, { minLength: 60, maxLength: 120, size: "max" })
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        // Every other time sessions are read by AccessSession. None of them is due, because the new expiry would depend
        // on the time.
        const sessions = next % 2 === 0 ? undefined : { maxAge: 60, updateAge: 0 }
        const [mine, theirs, alone] = keys
          .slice(next, next + 3)
          .map(({ text }) => createAuthwireClient({ url: server.grpcUrl, apiKey: text, sessions })) as Client[] as [
          Client,
          Client,
          Client,
        ]
        next += 3
        const together = []
        for (const { mine: isMine, operation } of sequence) {
          const outcome = await outcomeOf(operation, isMine ? mine : theirs, isMine ? "mine" : "theirs")
          if (isMine) together.push(outcome)
        }
        const separate = []
        for (const { operation } of sequence.filter((each) => each.mine)) {
          separate.push(await outcomeOf(operation, alone, "mine"))
        }
        for (const client of [mine, theirs, alone]) client.close()
        expect(together).toEqual(separate)
      }),
      { numRuns: runs, endOnFailure: true },
    )
  })
})

type Client = ReturnType<typeof createAuthwireClient>

async function outcomeOf({ name, run }: Operation, { adapter }: Client, mark: string): Promise<unknown> {
  try {
    return { name, value: await run(adapter, mark) }
  } catch (error) {
    if (!(error instanceof AuthwireError)) throw error
    const { code, reason, message, fieldViolations } = error
    return { name, code, reason, message, fieldViolations }
  }
}
