import { describe, expect, test } from "@jest/globals"
import {
  anyone,
  type ContractContext,
  differentKeys,
  newAuthenticator,
  newId,
  newUser,
  oddExtra,
  outcomes,
  range,
} from "./context.js"

export function authenticatorContract(context: ContractContext): void {
  const rowsOf = (id: string) => context.database.sql("SELECT * FROM authenticators WHERE credential_id = ?", [id])
  const newUserId = async () => (await context.store.users.create(anyone, newUser())).id
  const created = async (counter: number) =>
    context.store.authenticators.create(anyone, newAuthenticator(await newUserId(), { counter }))

  describe("create", () => {
    test("keeps every field exactly, and the database holds it", async () => {
      const authenticator = newAuthenticator(await newUserId(), {
        counter: 4_294_967_295,
        credentialDeviceType: "multiDevice",
        credentialBackedUp: true,
        transports: "usb,nfc",
        extra: oddExtra,
      })
      expect(await context.store.authenticators.create(anyone, authenticator)).toEqual(authenticator)
      expect(await context.other.authenticators.get(anyone, authenticator.credentialID)).toEqual(authenticator)
      expect(await rowsOf(authenticator.credentialID)).toEqual([
        {
          tenant: "default",
          credential_id: authenticator.credentialID,
          user_id: authenticator.userId,
          provider_account_id: authenticator.providerAccountId,
          credential_public_key: "cHVibGlj",
          counter: 4_294_967_295,
          credential_device_type: "multiDevice",
          credential_backed_up: 1,
          transports: "usb,nfc",
          extra: JSON.stringify(oddExtra),
          display_name: null,
          last_used: null,
          created: context.clock.now,
          updated: context.clock.now,
        },
      ])
    })

    test("absent is not null", async () => {
      const userId = await newUserId()
      const [absent, empty] = [newAuthenticator(userId), newAuthenticator(userId, { extra: { transports: null } })]
      for (const each of [absent, empty]) {
        await context.store.authenticators.create(anyone, each)
        expect(await context.store.authenticators.get(anyone, each.credentialID)).toEqual(each)
      }
    })

    test("keeps values as long as the schema allows", async () => {
      const authenticator = newAuthenticator(await newUserId(), {
        credentialID: newId().padEnd(1400, "c"),
        providerAccountId: "p".repeat(1400),
        credentialPublicKey: "k".repeat(16_384),
        credentialDeviceType: "d".repeat(64),
        transports: "t".repeat(1024),
        extra: { k: "x".repeat(65_528) },
      })
      await context.store.authenticators.create(anyone, authenticator)
      expect(await context.store.authenticators.get(anyone, authenticator.credentialID)).toEqual(authenticator)
    })

    test("AUTHENTICATOR_ALREADY_EXISTS: the credential id is taken", async () => {
      const authenticator = await created(5)
      const again = { ...newAuthenticator(await newUserId()), credentialID: authenticator.credentialID }
      await expect(context.other.authenticators.create(anyone, again)).rejects.toMatchObject({
        reason: "AUTHENTICATOR_ALREADY_EXISTS",
      })
      expect(await rowsOf(authenticator.credentialID)).toMatchObject([{ user_id: authenticator.userId, counter: 5 }])
    })

    test("USER_NOT_FOUND: no such user", async () => {
      const authenticator = newAuthenticator(newId())
      await expect(context.store.authenticators.create(anyone, authenticator)).rejects.toMatchObject({
        reason: "USER_NOT_FOUND",
      })
      expect(await rowsOf(authenticator.credentialID)).toEqual([])
    })

    test("INVALID_FIELD: extra of more than 65,536 bytes as JSON", async () => {
      const authenticator = newAuthenticator(await newUserId(), { extra: { k: "x".repeat(65_529) } })
      const invalid = { reason: "INVALID_FIELD", field: "extra" }
      await expect(context.store.authenticators.create(anyone, authenticator)).rejects.toMatchObject(invalid)
      expect(await rowsOf(authenticator.credentialID)).toEqual([])
    })

    test("INVALID_FIELD: the authenticators of the user would take more than 1 MiB, also with concurrent calls", async () => {
      const userId = await newUserId()
      const large = () => newAuthenticator(userId, { extra: { k: "x".repeat(65_528) } })
      const creating = range(30).map(() => context.store.authenticators.create(anyone, large()))
      expect(await outcomes(creating)).toEqual({ ok: 15, INVALID_FIELD: 15 })
      await expect(context.other.authenticators.create(anyone, large())).rejects.toMatchObject({ field: "user_id" })
      expect(await context.store.authenticators.listByUserId(anyone, userId)).toHaveLength(15)
      await context.store.authenticators.create(anyone, newAuthenticator(await newUserId()))
    })

    test.each(differentKeys)("compares credential ids byte for byte: %s", async (_, one, another) => {
      const unique = newId()
      const [mine, yours] = [
        newAuthenticator(await newUserId(), { credentialID: unique + one }),
        newAuthenticator(await newUserId(), { credentialID: unique + another }),
      ]
      await context.store.authenticators.create(anyone, mine)
      expect(await context.store.authenticators.get(anyone, yours.credentialID)).toBeNull()
      expect(await context.store.authenticators.updateCounter(anyone, yours.credentialID, 9)).toBeNull()
      await context.store.authenticators.create(anyone, yours)
      expect(await context.store.authenticators.get(anyone, mine.credentialID)).toEqual(mine)
      expect(await context.store.authenticators.get(anyone, yours.credentialID)).toEqual(yours)
    })
  })

  describe("listByUserId", () => {
    test("returns all of the user's in the byte order of their credential ids", async () => {
      const userId = await newUserId()
      const unique = newId()
      const inOrder = ["", " ", "A", "B", "Z", "a", "b", "e\u0301", "é", "ａ", "🙂"].map((end) => unique + end)
      for (const credentialID of [...inOrder].reverse()) {
        await context.store.authenticators.create(anyone, newAuthenticator(userId, { credentialID }))
      }
      const listed = await context.store.authenticators.listByUserId(anyone, userId)
      expect(listed.map((each) => each.credentialID)).toEqual(inOrder)
      const now = new Date(context.clock.now)
      const first = await context.store.authenticators.get(anyone, unique)
      expect(listed[0]).toEqual({ ...first, created: now, updated: now })
    })

    test("returns none for a user without any, and for an unknown user", async () => {
      expect(await context.store.authenticators.listByUserId(anyone, await newUserId())).toEqual([])
      expect(await context.store.authenticators.listByUserId(anyone, newId())).toEqual([])
    })
  })

  describe("updateCounter", () => {
    test.each([
      ["a higher value", 1, 2],
      ["the same value", 7, 7],
      ["zero, where many passkeys stay", 0, 0],
      ["the highest of 32 bits", 2_147_483_648, 4_294_967_295],
    ])("takes %s", async (_, before, after) => {
      const authenticator = await created(before)
      const raised = { ...authenticator, counter: after, lastUsed: new Date(context.clock.now) }
      const { credentialID } = authenticator
      expect(await context.store.authenticators.updateCounter(anyone, credentialID, after)).toEqual(raised)
      expect(await rowsOf(credentialID)).toMatchObject([{ counter: after }])
    })

    test("S-28: COUNTER_REGRESSION: a lower value; the counter stays", async () => {
      const { credentialID } = await created(10)
      for (const lower of [9, 0]) {
        await expect(context.store.authenticators.updateCounter(anyone, credentialID, lower)).rejects.toMatchObject({
          reason: "COUNTER_REGRESSION",
        })
      }
      expect(await rowsOf(credentialID)).toMatchObject([{ counter: 10, last_used: null }])
    })

    test("null: no such authenticator", async () => {
      expect(await context.store.authenticators.updateCounter(anyone, newId(), 1)).toBeNull()
    })

    test("S-28: of 50 concurrent calls in any order, the highest value stays", async () => {
      const { credentialID } = await created(0)
      const values = range(50).map((n) => ((n * 37) % 50) + 1)
      const calls = values.map((value, n) =>
        (n % 2 ? context.store : context.other).authenticators.updateCounter(anyone, credentialID, value),
      )
      const counts = await outcomes(calls)
      expect(Object.keys(counts).filter((outcome) => !["ok", "COUNTER_REGRESSION"].includes(outcome))).toEqual([])
      expect(await rowsOf(credentialID)).toMatchObject([{ counter: 50 }])
    })
  })
}
