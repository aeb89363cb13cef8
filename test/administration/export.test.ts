import { type ExportUserResponse, UserService } from "@authwire/proto"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { createKey } from "@authwire/test-support/processes/keys.js"
import { run } from "@authwire/test-support/processes/server.js"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { beforeAll, describe, expect, test } from "@jest/globals"

const sessions = 55
const expires = timestampFromMs(Date.UTC(2099, 0, 1))

const authwire = useAuthwire(serviceDatabase())
let key: string

beforeAll(async () => {
  key = (await createKey(authwire.database, "users:export")).text
  for (const id of ["ann", "bob"]) await createData(id)
})

/** Creates a user with data of every kind. Texts that must not be exported contain "secret". */
async function createData(id: string) {
  const { users, accounts, authenticators } = authwire.client
  await users.createUser({ id, email: `${id}@example.com`, name: id, image: `https://${id}`, extra: { role: id } })
  const tokens = { accessToken: "secret", refreshToken: "secret", idToken: "secret", extra: { token: "secret" } }
  for (const provider of ["github", "google"]) {
    await accounts.linkAccount({ userId: id, type: 1, provider, providerAccountId: `of ${id}`, scope: "s", ...tokens })
  }
  await authenticators.createAuthenticator({
    credentialId: `passkey of ${id}`,
    userId: id,
    providerAccountId: `of ${id}`,
    credentialPublicKey: "secret",
    counter: 1,
    credentialDeviceType: "singleDevice",
  })
  for (let n = 0; n < sessions; n++) {
    await authwire.client.sessions.createSession({
      sessionToken: `secret ${id} ${n}`,
      userId: id,
      expires,
      ip: "192.0.2.1",
      userAgent: `browser of ${id}`,
      impersonator: "staff",
      extra: { n },
    })
  }
}

/** Reads all pages. */
async function pagesOf(userId: string, pageSize: number) {
  const pages: ExportUserResponse[] = []
  do {
    const pageToken = pages.at(-1)?.nextPageToken ?? ""
    pages.push(await authwire.client.users.exportUser({ userId, pageSize, pageToken }))
  } while (pages.at(-1)?.nextPageToken !== "")
  return pages
}

describe("ExportUser", () => {
  test.each([1, 50, 1000])("has everything about one user and no secret, with pages of %d", async (size) => {
    const pages = await pagesOf("ann", size)
    const all = {
      user: pages.flatMap(({ user = [] }) => user),
      authenticators: pages.flatMap((page) => page.authenticators),
      accounts: pages.flatMap((page) => page.accounts),
      sessions: pages.flatMap((page) => page.sessions),
      events: pages.flatMap((page) => page.events),
    }
    expect(all.user).toMatchObject([
      { email: "ann@example.com", name: "ann", image: "https://ann", extra: { role: "ann" } },
    ])
    expect(all.user[0]?.createTime).toBeDefined()
    expect(all.authenticators).toMatchObject([{ credentialId: "passkey of ann", counter: 1, credentialPublicKey: "" }])
    expect(all.accounts).toMatchObject(
      ["github", "google"].map((provider) => ({ provider, providerAccountId: "of ann", scope: "s" })),
    )
    expect(all.sessions.map(({ extra }) => extra?.n).sort()).toEqual([...Array(sessions).keys()].sort())
    expect(all.sessions[0]).toMatchObject({ ip: "192.0.2.1", userAgent: "browser of ann", impersonator: "staff" })
    // One for each write about the user, also for the last ones.
    expect(all.events).toHaveLength(1 + 2 + 1 + sessions)
    expect(all.events.every(({ userId }) => userId === "ann")).toBe(true)
    const text = JSON.stringify(pages, (_, value) => (typeof value === "bigint" ? String(value) : value))
    expect(text).not.toMatch(/secret|bob/)
    for (const page of pages) {
      for (const list of [page.accounts, page.sessions, page.events]) expect(list.length).toBeLessThanOrEqual(size)
    }
  })

  test("a page after the user was deleted fails", async () => {
    await createData("carl")
    const { nextPageToken: pageToken } = await authwire.client.users.exportUser({ userId: "carl" })
    await authwire.client.users.deleteUser({ id: "carl" })
    await expect(authwire.client.users.exportUser({ userId: "carl", pageToken })).rejects.toThrow("no such user")
  })

  test("a token that the service has not made is rejected", async () => {
    const ofAnn = (await pagesOf("ann", 1)).map((page) => page.nextPageToken).find((one) => /^sessions\../.test(one))
    for (const pageToken of ["x", "events.x", "events.-1", "accounts.x", "tokens.", ofAnn]) {
      const call = authwire.client.users.exportUser({ userId: "bob", pageToken: pageToken as string })
      await expect(call).rejects.toThrow("page_token")
    }
  })

  test("another tenant has no such user", async () => {
    await run(["tenants", "create", "acme"], { AUTHWIRE_DATABASE_URL: authwire.database.url })
    const { text } = await createKey(authwire.database, "all", "--tenant=acme")
    const { exportUser } = createClient(UserService, createGrpcTransport({ baseUrl: authwire.server.grpcUrl }))
    const headers = { authorization: `Bearer ${text}` }
    for (const pageToken of ["", "sessions.", "events.0"]) {
      await expect(exportUser({ userId: "ann", pageToken }, { headers })).rejects.toThrow("no such user")
    }
  })
})

test("authwire users export prints all pages as one document", async () => {
  const env = { AUTHWIRE_API_KEY: key, AUTHWIRE_URL: authwire.server.grpcUrl }
  const { code, stdout, stderr } = await run(["users", "export", "ann"], env)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const document = JSON.parse(stdout)
  expect(Object.keys(document)).toEqual(["user", "authenticators", "accounts", "sessions", "events"])
  expect(document.user.id).toBe("ann")
  expect(document.authenticators).toHaveLength(1)
  expect(document.accounts).toHaveLength(2)
  expect(document.sessions).toHaveLength(sessions)
  expect(document.events).toHaveLength(1 + 2 + 1 + sessions)
  expect(stdout).not.toMatch(/secret|bob/)
  await authwire.client.users.createUser({ id: "dora" })
  const { accounts, sessions: none } = JSON.parse((await run(["users", "export", "dora"], env)).stdout)
  expect([accounts, none]).toEqual([[], []])
})
