import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals"
import { failureOf } from "../transports/world.js"
import {
  type Issued,
  type RotatingGrants,
  startRotatingGrants,
  type TokenAnswer,
  usualAnswer,
} from "./rotating-grants.js"
import { entryOf, providersFile, type Replica, signedUp, startReplica } from "./world.js"

// What the application gets, and what is stored, for some answers of a token endpoint that replaces refresh tokens and ends
// the grant if one is used twice. Two replicas, or one on SQLite, ask it in turn.
// server/src/provider-tokens/token-answer.test.ts has a line for each kind of answer.
const target = serviceDatabase()
let database: TestDatabase
let provider: RotatingGrants
const replicas: Replica[] = []
const replica = (n: number) => replicas[n % replicas.length] as Replica

beforeAll(async () => {
  database = await createDatabase(target)
  provider = await startRotatingGrants()
  const entry = entryOf(provider, { error_codes: { "4711": "client" } })
  const file = providersFile({ default: { oidc: entry } })
  replicas.push(await startReplica(database, file))
  if (target !== "sqlite") replicas.push(await startReplica(database, file))
})
afterAll(async () => {
  await Promise.all(replicas.map((one) => one.stop()))
  await provider.close()
  await database.drop()
})
beforeEach(() => {
  provider.answer = usualAnswer
})

type SignedUp = Awaited<ReturnType<typeof signedUp>>
const signUp = async (): Promise<SignedUp & { grant: string }> => {
  const grant = crypto.randomUUID()
  return { ...(await signedUp(replica(0).client, { refreshToken: provider.begin(grant) })), grant }
}
const get = (n: number, account: SignedUp) => replica(n).client.accounts.getAccessToken(account)
const storedOf = async ({ provider, providerAccountId }: SignedUp) =>
  (await replica(0).client.accounts.getAccount({ provider, providerAccountId })).account
const keyOf = ({ providerAccountId }: SignedUp) =>
  target === "postgres" || target === "sqlite" ? providerAccountId : Buffer.from(providerAccountId)
/** Makes the access token expire, and ends the pause after a failure. */
const elapse = (account: SignedUp) =>
  database.query(
    "UPDATE accounts SET expires_at = 1000, refresh_until = '2020-01-01 00:00:00.000' WHERE provider_account_id = ?",
    [keyOf(account)],
  )

test(`on ${target}: tokens in a form are stored and returned, and the next refresh does not use an old one`, async () => {
  const account = await signUp()
  provider.answer = ({ access, refresh }) => ({
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ access_token: access, token_type: "bearer", refresh_token: refresh }).toString(),
  })
  expect(await get(0, account)).toMatchObject({ accessToken: `access ${account.grant}~1`, tokenType: "bearer" })
  expect(await storedOf(account)).toMatchObject({ refreshToken: `${account.grant}~2` })
  await elapse(account)
  provider.answer = usualAnswer
  expect(await get(1, account)).toMatchObject({ accessToken: `access ${account.grant}~2` })
  expect(provider.isEnded(account.grant)).toBe(false)
})

describe(`on ${target}: an answer without a usable access token`, () => {
  const rejection = (status: number, body: unknown) => (): TokenAnswer => ({ status, body, isRejection: true })
  const refused = (oauth_error: string | undefined, http_status: string, more: object = {}) =>
    ["REFRESH_REFUSED", { ...(oauth_error && { oauth_error }), http_status, ...more }] as const

  test.each<[string, (issued: Issued) => TokenAnswer, readonly [string, object]]>([
    ["RFC 6749", rejection(400, { error: "invalid_grant" }), refused("invalid_grant", "400")],
    [
      "a code that the providers file lists",
      rejection(400, { error: 4711 }),
      ["CLIENT_REFUSED", { oauth_error: "4711", http_status: "400" }],
    ],
    [
      "B2C: no access token",
      ({ refresh }) => ({ body: { refresh_token: refresh } }),
      refused(undefined, "200", { failure: "no_access_token" }),
    ],
    [
      "an access token that has expired",
      ({ access, refresh }) => ({ body: { access_token: access, refresh_token: refresh, expires_in: 0 } }),
      ["PROVIDER_UNAVAILABLE", { failure: "expired", http_status: "200" }],
    ],
  ])(
    "%s: every replica returns the error, the provider is asked once, and later the grant is still good",
    async (_, answer, expected) => {
      const account = await signUp()
      provider.answer = answer
      for (const n of [0, 1, 2]) {
        const { infos } = await failureOf(get(n, account))
        const { request_id: _, ...metadata } = infos[0]?.metadata ?? {}
        expect([infos[0]?.reason, metadata]).toEqual(expected)
      }
      expect(provider.asked(account.grant)).toBe(1)
      await elapse(account)
      provider.answer = usualAnswer
      expect((await get(1, account)).accessToken).toMatch(`access ${account.grant}~`)
      expect(provider.isEnded(account.grant)).toBe(false)
    },
  )

  test("a refresh can be forced once in 30 seconds on any replica", async () => {
    const account = await signUp()
    await get(0, account)
    const force = (n: number) => replica(n).client.accounts.getAccessToken({ ...account, force: true })
    const before = await Promise.all([force(0), force(1)])
    expect(before.map(({ accessToken }) => accessToken)).toEqual(Array(2).fill(`access ${account.grant}~1`))
    await database.query("UPDATE accounts SET updated = '2020-01-01 00:00:00.000' WHERE provider_account_id = ?", [
      keyOf(account),
    ])
    const after = await Promise.all([0, 1, 0, 1].map(force))
    expect(after.map(({ accessToken }) => accessToken)).toEqual(Array(4).fill(`access ${account.grant}~2`))
    expect(provider.asked(account.grant)).toBe(2)
  })
})
