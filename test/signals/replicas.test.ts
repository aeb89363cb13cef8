import { createDatabase, describeServer, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { range } from "@authwire/test-support/store-contract/context.js"
import { until } from "@authwire/test-support/until.js"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import { apple, event, type Issuer, logout, startIssuer } from "./issuer.js"
import { type SignalWorld, signIn, startSignalWorld } from "./world.js"

describeServer("two replicas on %s", (target) => {
  let issuer: Issuer
  let database: TestDatabase
  let one: SignalWorld
  let other: SignalWorld
  beforeAll(async () => {
    database = await createDatabase(target)
    issuer = await startIssuer()
    one = await startSignalWorld(database, issuer)
    other = await startSignalWorld(database, issuer)
  })
  afterAll(async () => {
    await one.stop()
    await other.stop()
    issuer.close()
    await database.drop()
  })

  /** A parameter for a column of keys. */
  const key = (text: string) => (target === "postgres" ? text : Buffer.from(text))
  const kindsOf = async (userId: string) =>
    (await database.query("SELECT kind FROM events WHERE user_id = ? ORDER BY id", [key(userId)])).map(({ kind }) =>
      String(kind),
    )
  const sessionsOf = async (userId: string) => {
    const rows = await database.query("SELECT COUNT(*) AS n FROM sessions WHERE user_id = ?", [key(userId)])
    return Number(rows[0]?.n)
  }

  test.each([
    ["an event", "push", [202, 202], "idp", (sub: string) => event("risc.sessions-revoked", of(sub))],
    ["a notification of Apple", "notify", [200, 200], "idp", (sub: string) => apple("consent-revoked", sub)],
    [
      "a logout token, whose repetition its standard refuses",
      "logout",
      [200, 400],
      "idp",
      (sub: string) => logout({ sub }),
    ],
  ] as const)(
    "get %s at the same moment: it has one effect and one event",
    async (_, way, statuses, provider, claims) => {
      for (const _ of range(3)) {
        const user = await signIn(one.client)
        const before = (await kindsOf(user.userId)).length
        const token = await issuer.sign(claims(user.sub))
        const answers = await Promise.all([one, other].map((world) => world[way](token, provider)))
        expect(answers.map(({ status }) => status).toSorted()).toEqual(statuses)
        expect(await user.sids()).toEqual(["other"])
        expect((await kindsOf(user.userId)).slice(before).toSorted()).toEqual([
          "account.updated",
          "user.sessions_revoked",
        ])
      }
    },
  )
  const of = (sub: string) => ({ subject_type: "iss-sub", iss: issuer.issuer, sub })

  test("one is killed while it ends hundreds of sessions: the token was not acknowledged, and its repetition ends the rest", async () => {
    await using resources = new AsyncDisposableStack()
    const user = await signIn(one.client, { sids: range(30).map(String) })
    // Ten rows for each, with other ids.
    const columns = "tenant, user_id, expires, extra, created, provider"
    const hash = target === "postgres" ? "sha256((id || n)::text::bytea)" : "UNHEX(SHA2(CONCAT(id, n), 256))"
    const numbers = range(10)
      .map((n) => `SELECT ${n} AS n`)
      .join(" UNION ALL ")
    await database.query(
      `INSERT INTO sessions (token_hash, ${columns})
      SELECT ${hash}, ${columns} FROM sessions CROSS JOIN (${numbers}) AS numbers WHERE user_id = ? AND provider = ?`,
      [key(user.userId), key("idp")],
    )
    const account = "FROM accounts WHERE user_id = ?"
    const token = await issuer.sign(event("risc.account-purged", of(user.sub)))
    // The last transaction of the signal waits for the row of the account.
    if (target !== "postgres") await database.query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    await database.query("BEGIN")
    await database.query(`SELECT user_id ${account} FOR UPDATE`, [key(user.userId)])
    const doomed = await startSignalWorld(database, issuer)
    resources.defer(() => doomed.stop())
    const answer = doomed.push(token).then(
      ({ status }) => status,
      () => "no answer",
    )
    await until(async () => (await sessionsOf(user.userId)) <= 100)
    await doomed.server.stop("SIGKILL")
    expect(await answer).toBe("no answer")
    await database.query("ROLLBACK")
    expect(await sessionsOf(user.userId)).toBeGreaterThan(1)
    expect(await user.account()).toMatchObject({ refreshToken: "r" })
    expect((await other.push(token)).status).toBe(202)
    expect(await user.sids()).toEqual(["other"])
    expect(await user.account()).toMatchObject({ accessToken: undefined, refreshToken: undefined })
    expect((await kindsOf(user.userId)).filter((kind) => kind === "account.updated")).toHaveLength(1)
  })
})
