import { createAuthwireClient as createEdgeClient } from "@authwire/client/edge"
import { AccountType, type User } from "@authwire/proto"
import { serviceDatabase } from "@authwire/test-support/databases/databases.js"
import { useAuthwire } from "@authwire/test-support/processes/authwire.js"
import { staticKey } from "@authwire/test-support/processes/server.js"
import { timestampFromDate, timestampMs } from "@bufbuild/protobuf/wkt"
import { beforeAll, describe, expect, test } from "@jest/globals"
import { failureOf } from "../transports/world.js"

// Lists through the whole service. Tests of the store's part are in store/conformance.
const credentials = { accessToken: "the access token", refreshToken: "the refresh token", idToken: "the id token" }

async function itemsOf<Item>(list: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = []
  for await (const item of list) items.push(item)
  return items
}

const badField = (field: string) => ({
  code: "InvalidArgument",
  infos: [{ reason: "INVALID_FIELD" }],
  violations: [{ field }],
})
const lacks = (scope: string) => ({
  code: "PermissionDenied",
  infos: [{ reason: "SCOPE_MISSING", metadata: { scope } }],
  violations: [],
})

const target = serviceDatabase()

describe("lists", () => {
  // In the order of their ids, too, because two users may be created in one millisecond.
  const emails = Array.from({ length: 120 }, (_, n) => `user-${String(n).padStart(3, "0")}@example.com`)
  const started = Date.now()

  const reader = staticKey(["users:read"])
  const tokensOnly = staticKey(["accounts:read"])
  const both = staticKey(["users:read", "accounts:read"])
  const all = staticKey(["all"])
  const sessionsOnly = staticKey(["sessions:read"])
  const later = timestampFromDate(new Date(Date.now() + 86_400_000))
  const other = staticKey(["all"], { tenant: "other" })
  const authwire = useAuthwire(target, { keys: [reader, tokensOnly, both, all, sessionsOnly, other] })
  const clientOf = (key: typeof reader) => authwire.clientOf(key)

  beforeAll(async () => {
    const { users, accounts } = clientOf(all)
    for (const email of emails) await users.createUser({ id: email, email })
    for (const provider of ["a", "b", "c"])
      await accounts.linkAccount({
        ...credentials,
        userId: emails[0] as string,
        provider,
        providerAccountId: "1",
        type: AccountType.OAUTH,
        scope: "openid",
        extra: { oauth_token_secret: "s" },
      })
  })

  const namesOf = (users: User[]) => users.map(({ email }) => email)

  test("users are listed in the order of their creation, over gRPC and over fetch, and the count matches", async () => {
    const edge = createEdgeClient({ url: authwire.server.httpUrl, apiKey: reader.text })
    for (const { users } of [clientOf(reader), edge]) {
      const listed = await itemsOf(users.list())
      expect(namesOf(listed)).toEqual(emails)
      for (const { createTime } of listed) {
        expect(createTime && timestampMs(createTime)).toBeGreaterThanOrEqual(started)
        expect(createTime && timestampMs(createTime)).toBeLessThanOrEqual(Date.now())
      }
      expect((await users.countUsers({})).count).toBe(emails.length)
    }
  })

  test("a page has 50 users by default, and a list continues where a page ended", async () => {
    const { users } = clientOf(reader)
    const lengths = []
    for await (const page of users.list().pages()) lengths.push(page.users.length)
    expect(lengths).toEqual([50, 50, 20])
    const first = await users.listUsers({ pageSize: 7 })
    expect(namesOf(first.users)).toEqual(emails.slice(0, 7))
    const rest = users.list({ pageSize: 100, pageToken: first.nextPageToken })
    expect(namesOf(await itemsOf(rest))).toEqual(emails.slice(7))
    // The same list again, from its beginning.
    expect(namesOf(await itemsOf(rest))).toEqual(emails.slice(7))
  })

  test("users are found by filters and by ids, and sessions of all users only with users:read", async () => {
    const { users } = clientOf(reader)
    expect(namesOf(await itemsOf(users.list({ emailPrefix: " USER-00", pageSize: 3 })))).toEqual(emails.slice(0, 10))
    expect(namesOf(await itemsOf(users.list({ provider: "a" })))).toEqual(emails.slice(0, 1))
    expect(await failureOf(users.listUsers({ provider: "a", namePrefix: "u" }))).toMatchObject(badField("provider"))
    const ids = [...emails, "nobody", ...emails, ...emails, ...emails, ...emails]
    expect(namesOf(await users.getMany(ids))).toEqual(ids.filter((id) => id !== "nobody"))
    expect((await users.batchGetUsers({ ids: ["nobody"] })).missingIds).toEqual(["nobody"])
    const { sessions } = clientOf(all)
    await sessions.createSession({ sessionToken: "t", userId: emails[1] as string, expires: later, ip: "203.0.113.7" })
    for (const filter of [{}, { ip: "203.0.113.7" }]) {
      const found = await itemsOf(sessions.list({ allUsers: true, ...filter }))
      expect(found.map(({ userId }) => userId)).toEqual([emails[1]])
    }
    expect(await itemsOf(clientOf(other).sessions.list({ allUsers: true }))).toEqual([])
    const invalid = badField("user_id")
    expect(await failureOf(sessions.listSessions({}))).toMatchObject(invalid)
    expect(await failureOf(sessions.listSessions({ allUsers: true, userId: "u" }))).toMatchObject(invalid)
    const withoutUsers = clientOf(sessionsOnly).sessions
    expect(await failureOf(withoutUsers.listSessions({ allUsers: true }))).toMatchObject(lacks("users:read"))
    await sessions.deleteSession({ sessionToken: "t" })
  })

  test("users that are too large for one response are those of the next one, and not missing", async () => {
    const { users } = clientOf(all)
    const ids = ["large 1", "large 2", "large 3"]
    for (const id of ids) await users.createUser({ id, image: "x".repeat(250_000) })
    const first = await users.batchGetUsers({ ids: ["nobody", ...ids, "no one"] })
    expect(first).toMatchObject({ missingIds: ["nobody"], processed: 3, more: true })
    expect((await users.getMany(["nobody", ...ids, "no one"])).map(({ id }) => id)).toEqual(ids)
    for (const id of ids) await users.deleteUser({ id })
  })

  test("a page is requested only when its first item is read", async () => {
    const { users } = clientOf(reader)
    const asked: string[] = []
    const watched = { onHeader: () => asked.push("page") }
    for await (const user of users.list({ pageSize: 10 }, watched)) if (user.email === emails[9]) break
    expect(asked).toHaveLength(1)
  })

  test("accounts are listed without tokens; with tokens only for a key that may read accounts", async () => {
    const userId = emails[0] as string
    const reading = clientOf(reader)
    const accounts = await itemsOf(reading.accounts.listByUser({ userId, pageSize: 2 }))
    expect(accounts.map(({ provider }) => provider)).toEqual(["a", "b", "c"])
    for (const account of accounts) {
      const without = { accessToken: undefined, refreshToken: undefined, idToken: undefined, extra: undefined }
      expect(account).toMatchObject({ userId, providerAccountId: "1", scope: "openid" })
      expect({ ...account, ...without }).toEqual(account)
    }
    for (const { createTime, updateTime } of accounts) expect([createTime, updateTime]).not.toContain(undefined)
    const texts = accounts.map((account) => ({ ...account, createTime: undefined, updateTime: undefined }))
    expect(JSON.stringify(texts)).not.toMatch(/token"/)
    const withTokens = { userId, includeTokens: true }
    expect(await failureOf(reading.accounts.listAccountsByUser(withTokens))).toMatchObject(lacks("accounts:read"))
    // The scope accounts:read alone does not allow listing.
    expect(await failureOf(clientOf(tokensOnly).accounts.listAccountsByUser(withTokens))).toMatchObject(
      lacks("users:read"),
    )
    const whole = await itemsOf(clientOf(both).accounts.listByUser(withTokens))
    expect(whole).toHaveLength(3)
    for (const account of whole) expect(account).toMatchObject({ ...credentials, extra: { oauth_token_secret: "s" } })
  })
})
