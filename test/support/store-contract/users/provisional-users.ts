import { beforeAll, describe, expect, test } from "@jest/globals"
import type { Store } from "../../../../server/src/store/store.js"
import {
  anyone,
  type ContractContext,
  createTenant,
  newAccount,
  newAuthenticator,
  newId,
  newSession,
  newUser,
  outcomes,
  range,
} from "../context.js"

const minutes = 60_000

export function provisionalUserContract(context: ContractContext): void {
  let store: Store
  let other: Store
  beforeAll(async () => {
    const options = { clock: () => context.clock.now, provisionalMs: 15 * minutes }
    store = await context.database.openStore(options)
    other = await context.database.openStore(options)
  })

  const addressed = () => newUser({ email: `${newId()}@example.com` })
  /** Creates a user with an incomplete sign-up. */
  const begun = async (user = addressed()) => store.users.create(anyone, user, { provisional: true })
  const holders = async (email: string | undefined) =>
    (await context.database.sql("SELECT id FROM users WHERE tenant = 'default' AND email = ?", [email])).map(
      ({ id }) => id,
    )
  const replaces = async (email: string | undefined) => {
    const next = newUser({ email })
    const outcome = await outcomes([other.users.create(anyone, next, { provisional: true })])
    return { outcome, isHolder: (await holders(email)).join() === next.id }
  }
  const replaced = { outcome: { ok: 1 }, isHolder: true }
  const rejected = { outcome: { EMAIL_ALREADY_EXISTS: 1 }, isHolder: false }

  test("S-29: one is found by its id, does not hold its address, and the next user replaces it and takes over nothing", async () => {
    const first = await begun({ ...addressed(), name: "Mallory", extra: { role: "admin" } })
    expect(await other.users.getByEmail(anyone, first.email as string)).toBeNull()
    expect(await other.users.get(anyone, first.id)).toEqual(first)
    const second = newUser({ email: first.email?.toUpperCase() })
    expect(await other.users.create(anyone, second, { provisional: true })).toEqual(second)
    expect(await store.users.get(anyone, second.id)).toEqual(second)
    expect(await store.users.get(anyone, first.id)).toBeNull()
  })

  test("a call with the id of a replaced user finds no user", async () => {
    const first = await begun()
    await replaces(first.email)
    const found = await outcomes([
      store.accounts.link(anyone, newAccount(first.id)),
      store.sessions.create(anyone, newSession(first.id, context.clock.now + minutes)),
      store.authenticators.create(anyone, newAuthenticator(first.id)),
    ])
    expect(found).toEqual({ USER_NOT_FOUND: 3 })
    expect(await store.users.update(anyone, first.id, { name: "Mallory" })).toBeNull()
  })

  test("the state ends after its time by the database's clock", async () => {
    const { id, email } = await begun()
    const ended = context.database.moment(Date.now() - minutes)
    await context.database.sql("UPDATE users SET provisional_until = ? WHERE tenant = 'default' AND id = ?", [
      ended,
      id,
    ])
    expect(await store.users.getByEmail(anyone, email as string)).not.toBeNull()
    expect(await replaces(email)).toEqual(rejected)
  })

  const later: [what: string, write: (id: string) => Promise<unknown>][] = [
    ["an account", (id) => store.accounts.link(anyone, newAccount(id))],
    ["a session", (id) => store.sessions.create(anyone, newSession(id, context.clock.now + minutes))],
    ["an expired session", (id) => store.sessions.create(anyone, newSession(id, context.clock.now - minutes))],
    ["a passkey", (id) => store.authenticators.create(anyone, newAuthenticator(id))],
    ["a verified address", (id) => store.users.update(anyone, id, { emailVerified: new Date() })],
    ["a disabled user", (id) => store.users.disable(anyone, id, {})],
    ["any change", (id) => store.users.update(anyone, id, { extra: { seen: true } })],
    [
      "an account that was unlinked afterwards",
      async (id) => store.accounts.unlink(anyone, await store.accounts.link(anyone, newAccount(id))),
    ],
    [
      "a session that was deleted afterwards",
      async (id) => {
        const session = newSession(id, context.clock.now + minutes)
        await store.sessions.create(anyone, session)
        await store.sessions.delete(anyone, session.sessionToken)
      },
    ],
    [
      "another user's session that was moved to it and back",
      async (id) => {
        const owner = await store.users.create(anyone, newUser())
        const session = newSession(owner.id, context.clock.now + minutes)
        await store.sessions.create(anyone, session)
        await store.sessions.update(anyone, session.sessionToken, { userId: id })
        await store.sessions.update(anyone, session.sessionToken, { userId: owner.id })
      },
    ],
  ]
  test.each(later)("the state ends with %s", async (_, write) => {
    const { id, email } = await begun()
    await write(id)
    expect(await other.users.getByEmail(anyone, email as string)).toMatchObject({ id })
    expect(await replaces(email)).toEqual(rejected)
    expect(await holders(email)).toEqual([id])
  })

  test.each<[who: string, create: (email: string) => Promise<unknown>]>([
    ["created without a word of a sign-up", (email) => store.users.create(anyone, newUser({ email }))],
    [
      "whose address is verified",
      (email) => store.users.create(anyone, newUser({ email, emailVerified: new Date() }), { provisional: true }),
    ],
    [
      "created by a store without provisional users",
      (email) => context.store.users.create(anyone, newUser({ email }), { provisional: true }),
    ],
  ])("a user %s is not replaced", async (_, create) => {
    const email = `${newId()}@example.com`
    await create(email)
    expect(await other.users.getByEmail(anyone, email)).not.toBeNull()
    expect(await replaces(email)).toEqual(rejected)
  })

  test("a user with a verified address or created by an administrator replaces one, and is not replaced", async () => {
    for (const more of [{ emailVerified: new Date() }, {}]) {
      const { email } = await begun()
      const next = newUser({ email, ...more })
      await other.users.create(anyone, next)
      expect(await holders(email)).toEqual([next.id])
      expect(await replaces(email)).toEqual(rejected)
    }
  })

  test("a store without provisional users replaces none", async () => {
    const { id, email } = await begun()
    expect(await context.store.users.getByEmail(anyone, email as string)).toMatchObject({ id })
    const next = context.store.users.create(anyone, newUser({ email }), { provisional: true })
    expect(await outcomes([next])).toEqual({ EMAIL_ALREADY_EXISTS: 1 })
  })

  test("USER_ALREADY_EXISTS: the id of a provisional user is taken, also with its address", async () => {
    const first = await begun()
    for (const email of [first.email, undefined]) {
      const again = other.users.create(anyone, newUser({ id: first.id, email }), { provisional: true })
      expect(await outcomes([again])).toEqual({ USER_ALREADY_EXISTS: 1 })
    }
  })

  test("rows with the same user id in another tenant have no effect", async () => {
    const first = await begun()
    const others = await createTenant({ store })
    await store.users.create(others, first)
    await store.accounts.link(others, newAccount(first.id))
    expect(await replaces(first.email)).toEqual(replaced)
    expect(await store.users.get(others, first.id)).toEqual(first)
  })

  describe("at the same time", () => {
    test("of 20 concurrent sign-ups with one address at most one completes, and it holds the address", async () => {
      for (const _ of range(5)) {
        const email = `${newId()}@example.com`
        const ends = await Promise.allSettled(
          range(20).map(async (n) => {
            const [own, user] = [n % 2 ? store : other, newUser({ email })]
            await own.users.create(anyone, user, { provisional: true })
            await own.accounts.link(anyone, newAccount(user.id))
            return user.id
          }),
        )
        const winners = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []))
        expect(winners).toHaveLength(1)
        expect(await holders(email)).toEqual(winners)
        const linked = await context.database.sql(
          "SELECT a.user_id FROM accounts a JOIN users u ON u.tenant = a.tenant AND u.id = a.user_id WHERE u.email = ?",
          [email],
        )
        expect(linked).toEqual([{ user_id: winners[0] }])
      }
    })

    test("either a link of an account or a replacement of the user succeeds, never both", async () => {
      const seen = new Set<string>()
      for (const _ of range(25)) {
        const first = await begun()
        const second = newUser({ email: first.email })
        const [linked, created] = await Promise.allSettled([
          store.accounts.link(anyone, newAccount(first.id)),
          other.users.create(anyone, second, { provisional: true }),
        ])
        seen.add(`${linked.status} ${created.status}`)
        expect(await holders(first.email)).toEqual([linked.status === "fulfilled" ? first.id : second.id])
      }
      expect([...seen].filter((pair) => pair !== "fulfilled rejected" && pair !== "rejected fulfilled")).toEqual([])
    })
  })
}
