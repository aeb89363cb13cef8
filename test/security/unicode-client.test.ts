import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import * as edge from "@authwire/client/edge"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

// TextEncoder replaces a lone surrogate with U+FFFD. A client that relied on it would change its input. The tests of the
// adapter are in client/src/adapter.

const lone = "\ud800"
const rule = "must be well-formed Unicode"
const rejected = (field: string) => ({
  ...{ name: "AuthwireError", code: "INVALID_ARGUMENT", reason: "INVALID_FIELD" },
  ...{ message: expect.stringContaining(`${field} ${rule}`), fieldViolations: [{ field, description: rule }] },
})

describe("S-32: the client sends no text that the encoding would change", () => {
  const authwire = useAuthwire("sqlite")
  const clients: Record<string, AuthwireClient> = {}
  beforeAll(async () => {
    clients.grpc = createAuthwireClient({ url: authwire.server.grpcUrl })
    clients.edge = edge.createAuthwireClient({ url: authwire.server.httpUrl })
  })
  afterAll(async () => {
    for (const client of Object.values(clients)) client.close()
  })

  const account = { userId: "ada", type: "oidc", provider: "p", providerAccountId: "a" } as const
  const link = { token: "t", expires: new Date(4e12) }
  test.each<[field: string, (client: Pick<AuthwireClient, "adapter" | "jwt">) => unknown]>([
    ["access_token", ({ adapter }) => adapter.linkAccount({ ...account, access_token: lone })],
    [
      "authorization_details[0].type",
      ({ adapter }) => adapter.linkAccount({ ...account, authorization_details: [{ type: lone }] }),
    ],
    ["identifier", ({ adapter }) => adapter.createVerificationToken({ ...link, identifier: lone })],
    ["token.role", ({ jwt }) => jwt.encode({ token: { role: lone }, salt: "s", secret: "" })],
    ["salt", ({ jwt }) => jwt.encode({ token: {}, salt: lone, secret: "" })],
    ["token", ({ jwt }) => jwt.decode({ token: lone, salt: "s", secret: "" })],
  ])("%s of a method of Auth.js", async (field, work) => {
    for (const client of Object.values(clients)) await expect(work(client)).rejects.toMatchObject(rejected(field))
  })

  test.each<[field: string, (client: AuthwireClient) => Promise<unknown>]>([
    ["name", ({ users }) => users.createUser({ name: lone })],
    ["extra.role", ({ users }) => users.createUser({ extra: { role: lone } })],
    ["extra.a[0].\ufffd", ({ users }) => users.createUser({ extra: { a: [{ [lone]: 1 }] } })],
    ["updateMask.paths[1]", ({ users }) => users.updateUser({ id: "ada", updateMask: { paths: ["name", lone] } })],
    ["headers[0].value", ({ tokens }) => tokens.getToken({ headers: [{ name: "cookie", value: lone }] })],
    ["headers[0].name", ({ introspection }) => introspection.introspect({ headers: [{ name: lone, value: "x" }] })],
    ["secrets[0]", ({ tokens }) => tokens.encode({ salt: "s", secrets: [lone] })],
  ])("%s of a typed client", async (field, work) => {
    for (const client of Object.values(clients)) await expect(work(client)).rejects.toMatchObject(rejected(field))
    expect(await authwire.rows("SELECT id FROM users")).toEqual([])
  })

  test("all other text is returned unchanged", async () => {
    const name = "\u{1f600} e\u0301 \ufffd \ufeff\u202e"
    for (const [id, client] of Object.entries(clients)) {
      await client.users.createUser({ id, name, extra: { [name]: [name] } })
      expect(await client.adapter.getUser(id)).toMatchObject({ name, [name]: [name] })
    }
  })
})
