import { createHash } from "node:crypto"
import { describe, expect, test } from "@jest/globals"
import type { SessionExtension } from "../../../../server/src/store/types.js"
import { anyone, type ContractContext, day, newId, newSession, newUser, range } from "../context.js"

export function sessionAccessContract(context: ContractContext): void {
  const hashOf = (sessionToken: string) => createHash("sha256").update(sessionToken).digest()
  const expiryOf = async (sessionToken: string): Promise<unknown> => {
    const hash = hashOf(sessionToken).toString("hex").toUpperCase()
    const rows = await context.database.sql("SELECT expires FROM sessions WHERE HEX(token_hash) = ?", [hash])
    return rows[0]?.expires
  }
  const created = async (lasts: number) => {
    const user = await context.store.users.create(anyone, newUser({ name: "Ada", extra: { role: "admin" } }))
    const given = newSession(user.id, context.clock.now + lasts, { extra: { device: "phone" } })
    const session = await context.store.sessions.create(anyone, given)
    return { user, session, sessionToken: session.sessionToken }
  }
  const extension: SessionExtension = { maxAge: 30 * day, updateAge: day }
  const access = (sessionToken: string, changes: Partial<SessionExtension> = {}, store = context.store) =>
    store.sessions.access(anyone, sessionToken, { ...extension, ...changes })
  const later = (ms: number) => new Date(context.clock.now + ms)

  /** Runs work while another transaction has changed the session and not committed yet. */
  async function whileChanged<T>(change: () => Promise<unknown>, work: () => Promise<T>): Promise<T> {
    await context.database.sql("BEGIN")
    await change()
    const met = context.database.lockMet()
    const working = work()
    await met
    await context.database.sql("COMMIT")
    return working
  }

  describe("access", () => {
    test("extends a session that is due, and returns it with its user", async () => {
      const { user, session, sessionToken } = await created(29 * day)
      const expires = later(30 * day)
      expect(await access(sessionToken)).toEqual({ session: { ...session, expires }, user, extended: true })
      expect(await expiryOf(sessionToken)).toBe(expires.getTime())
    })

    test("is due by the millisecond", async () => {
      const early = await created(29 * day + 1)
      expect(await access(early.sessionToken)).toEqual({ session: early.session, user: early.user, extended: false })
      expect(await expiryOf(early.sessionToken)).toBe(early.session.expires.getTime())
      const due = await created(29 * day)
      expect(await access(due.sessionToken)).toMatchObject({ extended: true })
    })

    test("once it was extended it is not extended again for updateAge", async () => {
      const { sessionToken } = await created(1)
      const before = context.clock.now
      try {
        expect(await access(sessionToken)).toMatchObject({ extended: true })
        context.clock.now += day - 1
        expect(await access(sessionToken, {}, context.other)).toMatchObject({ extended: false })
        expect(await expiryOf(sessionToken)).toBe(before + 30 * day)
        context.clock.now += 1
        expect(await access(sessionToken, {}, context.other)).toMatchObject({ extended: true })
        expect(await expiryOf(sessionToken)).toBe(before + 31 * day)
      } finally {
        context.clock.now = before
      }
    })

    test("with an updateAge of 0 it is extended whenever the clock has advanced", async () => {
      const { sessionToken } = await created(30 * day - 1)
      expect(await access(sessionToken, { updateAge: 0 })).toMatchObject({ extended: true })
      expect(await access(sessionToken, { updateAge: 0 })).toMatchObject({ extended: false })
      context.clock.now += 1
      try {
        expect(await access(sessionToken, { updateAge: 0 })).toMatchObject({ extended: true })
      } finally {
        context.clock.now -= 1
      }
      expect(await expiryOf(sessionToken)).toBe(context.clock.now + 30 * day + 1)
    })

    test("with an updateAge above maxAge it is never extended", async () => {
      const { sessionToken } = await created(0)
      expect(await access(sessionToken, { updateAge: 30 * day + 1 })).toMatchObject({ extended: false })
      expect(await expiryOf(sessionToken)).toBe(context.clock.now)
    })

    test.each([0, 1, day, 31 * day])("an updateAge of %p makes no expiry earlier", async (updateAge) => {
      const { session, sessionToken } = await created(365 * day)
      expect(await access(sessionToken, { updateAge })).toMatchObject({ session, extended: false })
      expect(await access(sessionToken, { maxAge: 1, updateAge })).toMatchObject({ session, extended: false })
      expect(await expiryOf(sessionToken)).toBe(session.expires.getTime())
    })

    test("a session that expires at this very millisecond is extended", async () => {
      const { sessionToken } = await created(0)
      expect(await access(sessionToken)).toMatchObject({ extended: true })
    })

    test("null: it expired a millisecond ago", async () => {
      const { sessionToken } = await created(-1)
      expect(await access(sessionToken)).toBeNull()
      expect(await expiryOf(sessionToken)).toBe(context.clock.now - 1)
    })

    test("null: no such session, and none is created", async () => {
      const sessionToken = newId()
      expect(await access(sessionToken)).toBeNull()
      expect(await expiryOf(sessionToken)).toBeUndefined()
    })

    test("of 20 concurrent calls on two stores one extends it, and all return the new expiry", async () => {
      for (const updateAge of [0, day]) {
        const { sessionToken } = await created(day)
        const answers = await Promise.all(
          range(20).map((n) => access(sessionToken, { updateAge }, n % 2 ? context.store : context.other)),
        )
        expect(answers.filter((answer) => answer?.extended)).toHaveLength(1)
        expect(answers.map((answer) => answer?.session.expires)).toEqual(answers.map(() => later(30 * day)))
        expect(await expiryOf(sessionToken)).toBe(context.clock.now + 30 * day)
      }
    })

    describe("another transaction changes the session after it was read", () => {
      const set = (sessionToken: string, column: string, value: unknown) =>
        context.database.sql(`UPDATE sessions SET ${column} = ? WHERE token_hash = ?`, [value, hashOf(sessionToken)])

      test.each<[string, (sessionToken: string) => Promise<unknown>, unknown]>([
        [
          "it is deleted",
          (token) => context.database.sql("DELETE FROM sessions WHERE token_hash = ?", [hashOf(token)]),
          undefined,
        ],
        [
          "its expiry is set to the past",
          (token) => set(token, "expires", context.database.moment(Date.UTC(2029, 11, 31))),
          Date.UTC(2029, 11, 31),
        ],
      ])("null: %s; it is not restored", async (_, change, left) => {
        const { sessionToken } = await created(day)
        expect(
          await whileChanged(
            () => change(sessionToken),
            () => access(sessionToken),
          ),
        ).toBeNull()
        expect(await expiryOf(sessionToken)).toBe(left)
      })

      test.each([
        ["less", 29 * day + 1],
        ["more", 60 * day],
      ])("it is extended by %s: it is returned as it is", async (_, by) => {
        const { session, sessionToken } = await created(day)
        const expires = later(by)
        const extend = () => set(sessionToken, "expires", context.database.moment(expires.getTime()))
        const answer = await whileChanged(extend, () => access(sessionToken))
        expect(answer).toMatchObject({ session: { ...session, expires }, extended: false })
        expect(await expiryOf(sessionToken)).toBe(expires.getTime())
      })

      test("it is moved to another user: it is returned with that user", async () => {
        const { sessionToken } = await created(day)
        const { id } = await context.store.users.create(anyone, newUser())
        const answer = await whileChanged(
          () => set(sessionToken, "user_id", id),
          () => access(sessionToken),
        )
        expect(answer).toMatchObject({ session: { userId: id }, user: { id }, extended: false })
      })
    })

    test("concurrent calls each get their own session: due, not due, expired and unknown ones", async () => {
      const sessions = await Promise.all(range(20).map((n) => created([day, 29.5 * day, -1][n % 3] as number)))
      const answers = await Promise.all(
        sessions.flatMap(({ sessionToken }) => [sessionToken, newId()].map((token) => access(token))),
      )
      const expected = sessions.flatMap(({ session, user }, n) => [
        [
          { session: { ...session, expires: later(30 * day) }, user, extended: true },
          { session, user, extended: false },
          null,
        ][n % 3],
        null,
      ])
      expect(answers).toEqual(expected)
    })

    test("concurrent calls extend each due session once, as its own call requests, with one event each", async () => {
      const due = await Promise.all(range(40).map(() => created(day)))
      const lasts = (n: number) => (n % 5 === 0 ? 60 : 30) * day
      const answers = await Promise.all(
        due.map(({ sessionToken }, n) =>
          Promise.all(
            [context.store, context.store, context.other].map((store) =>
              access(sessionToken, { maxAge: lasts(n) }, store),
            ),
          ),
        ),
      )
      for (const [n, { session, sessionToken, user }] of due.entries()) {
        const extended = { session: { ...session, expires: later(lasts(n)) }, user }
        const outcomes = (answers[n] ?? []).map((answer) => answer?.extended)
        expect(outcomes.toSorted()).toEqual([false, false, true])
        expect(answers[n]).toEqual(outcomes.map((one) => ({ ...extended, extended: one })))
        expect(await expiryOf(sessionToken)).toBe(context.clock.now + lasts(n))
        const select = "SELECT kind, user_id FROM events WHERE session_id = ? ORDER BY id"
        expect(await context.database.sql(select, [session.id])).toEqual([
          { kind: "session.created", user_id: user.id },
          { kind: "session.updated", user_id: user.id },
        ])
      }
    })

    test("of many calls that race with other writes none restores a deleted session or extends a changed one", async () => {
      const other = await context.store.users.create(anyone, newUser())
      const due = await Promise.all(range(30).map(() => created(day)))
      const change = async ({ sessionToken }: (typeof due)[0], n: number) => {
        if (n % 3 === 0) await context.other.sessions.delete(anyone, sessionToken)
        if (n % 3 === 1) await context.other.sessions.update(anyone, sessionToken, { userId: other.id })
        if (n % 3 === 2) await context.other.sessions.update(anyone, sessionToken, { expires: later(90 * day) })
      }
      const [answers] = await Promise.all([
        Promise.all(due.map(({ sessionToken }) => access(sessionToken))),
        Promise.all(due.map(change)),
      ])
      for (const [n, { sessionToken, user }] of due.entries()) {
        const answer = answers[n]
        const owner = answer?.session.userId
        expect(answer?.user.id).toBe(owner)
        if (n % 3 === 0) expect(await expiryOf(sessionToken)).toBeUndefined()
        else expect([user.id, other.id]).toContain(owner)
        if (n % 3 === 2) expect(await expiryOf(sessionToken)).toBe(context.clock.now + 90 * day)
      }
    })

    test("another tenant neither sees nor extends it", async () => {
      const { session, sessionToken } = await created(day)
      expect(await context.store.sessions.access({ tenant: newId() }, sessionToken, extension)).toBeNull()
      expect(await expiryOf(sessionToken)).toBe(session.expires.getTime())
    })

    test("it is not a part of once: TypeError, and nothing is written", async () => {
      const { session, sessionToken } = await created(1)
      const request = { owner: "", key: newId(), digest: () => "" }
      const calling = context.store.once(anyone, request, async (transaction) => {
        await context.store.sessions.access({ ...anyone, transaction }, sessionToken, extension)
        return Buffer.alloc(0)
      })
      await expect(calling).rejects.toThrow(TypeError)
      expect(await expiryOf(sessionToken)).toBe(session.expires.getTime())
    })
  })
}
