import { describe, expect, test } from "@jest/globals"
import { anyone, type ContractContext, newAuthenticator, newId, newUser, oddText, outcomes, range } from "./context.js"
import { allPages } from "./pages.js"

export function authenticatorChangeContract(context: ContractContext): void {
  const rowsOf = (id: string) => context.database.sql("SELECT * FROM authenticators WHERE credential_id = ?", [id])
  const newUserId = async () => (await context.store.users.create(anyone, newUser())).id
  const created = async (userId?: string) =>
    context.store.authenticators.create(anyone, newAuthenticator(userId ?? (await newUserId())))

  describe("list", () => {
    test("returns the authenticators of the user, each on one page, in the byte order of their credential ids", async () => {
      const userId = await newUserId()
      const unique = newId()
      const inOrder = [" ", "A", "B", "a", "e\u0301", "é", "ａ", "🙂", "🙃"]
        .flatMap((end) => [end, `${end}1`])
        .map((end) => unique + end)
      for (const credentialID of [...inOrder].reverse()) {
        await context.store.authenticators.create(anyone, newAuthenticator(userId, { credentialID }))
      }
      await created()
      for (const size of [1, 7, 16, 18, 19]) {
        const pages = await allPages(size, (page) => context.other.authenticators.list(anyone, userId, page))
        const sizes = range(Math.ceil(18 / size)).map((n) => Math.min(size, 18 - n * size))
        expect(pages.map(({ length }) => length)).toEqual(sizes)
        expect(pages.flat().map(({ credentialID }) => credentialID)).toEqual(inOrder)
      }
      const page = await context.store.authenticators.list(anyone, userId, { size: 99 })
      expect(page.items).toEqual(await context.store.authenticators.listByUserId(anyone, userId))
    })

    test("returns none for a user without any, and for an unknown user", async () => {
      for (const userId of [await newUserId(), newId()]) {
        expect(await context.store.authenticators.list(anyone, userId, { size: 1 })).toEqual({ items: [] })
      }
    })
  })

  describe("rename", () => {
    test.each([
      ["text that is easily damaged", oddText.slice(0, 100)],
      ["100 characters of four bytes", "🙂".repeat(100)],
    ])("sets %s, and every read returns it", async (_, displayName) => {
      const authenticator = await created()
      const { credentialID, userId } = authenticator
      const named = { ...authenticator, displayName }
      expect(await context.store.authenticators.rename(anyone, credentialID, displayName)).toEqual(named)
      expect(await context.other.authenticators.get(anyone, credentialID)).toEqual(named)
      expect(await context.other.authenticators.listByUserId(anyone, userId)).toMatchObject([named])
      expect(await rowsOf(credentialID)).toMatchObject([{ display_name: displayName, last_used: null }])
    })

    test("removes the name", async () => {
      const authenticator = await created()
      const { credentialID } = authenticator
      await context.store.authenticators.rename(anyone, credentialID, "Laptop")
      expect(await context.store.authenticators.rename(anyone, credentialID, undefined)).toEqual(authenticator)
      expect(await rowsOf(credentialID)).toMatchObject([{ display_name: null }])
    })

    test("leaves the counter to concurrent sign-ins", async () => {
      const { credentialID } = await created()
      const calls = range(10).flatMap((n) => [
        context.store.authenticators.rename(anyone, credentialID, `name ${n}`),
        context.other.authenticators.updateCounter(anyone, credentialID, 10),
      ])
      expect(await outcomes(calls)).toEqual({ ok: 20 })
      const [row] = await rowsOf(credentialID)
      expect(row).toMatchObject({ counter: 10, last_used: context.clock.now })
      expect(row?.display_name).toMatch(/^name \d$/)
    })
  })

  describe("delete", () => {
    test("returns the authenticator as it was; its user, account and other authenticators stay", async () => {
      const authenticator = await created()
      const { credentialID, userId } = authenticator
      const other = await created(userId)
      expect(await context.store.authenticators.delete(anyone, credentialID)).toEqual(authenticator)
      expect(await rowsOf(credentialID)).toEqual([])
      expect(await context.other.authenticators.listByUserId(anyone, userId)).toMatchObject([other])
      expect(await context.store.users.get(anyone, userId)).not.toBeNull()
      expect(await context.store.authenticators.updateCounter(anyone, credentialID, 9)).toBeNull()
      expect(await context.store.authenticators.create(anyone, authenticator)).toEqual(authenticator)
    })

    test("of 10 concurrent calls one returns the authenticator", async () => {
      const { credentialID } = await created()
      const answers = await Promise.all(
        range(10).map((n) => (n % 2 ? context.store : context.other).authenticators.delete(anyone, credentialID)),
      )
      expect(answers.filter((answer) => answer !== null)).toHaveLength(1)
    })
  })

  describe.each<[string, (id: string, userId: string) => Promise<unknown>]>([
    ["rename", (id, userId) => context.store.authenticators.rename(anyone, id, "mine", userId)],
    ["delete", (id, userId) => context.store.authenticators.delete(anyone, id, userId)],
  ])("%s with a user", (_, call) => {
    test("null: the authenticator belongs to another user, or does not exist; nothing is written", async () => {
      const { credentialID, userId } = await created()
      const before = await rowsOf(credentialID)
      for (const other of [await newUserId(), newId(), userId.toUpperCase()]) {
        expect(await call(credentialID, other)).toBeNull()
      }
      expect(await call(newId(), userId)).toBeNull()
      expect(await rowsOf(credentialID)).toEqual(before)
      expect(await call(credentialID, userId)).toMatchObject({ credentialID })
    })
  })
}
