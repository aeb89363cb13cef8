import type { AuthwireClient } from "@authwire/client"
import { repeatable, SessionService, UserService } from "@authwire/proto"
import { type DescMethodUnary, getOption, toBinary } from "@bufbuild/protobuf"
import { describe, expect, test } from "@jest/globals"
import { type Carrier, carriers } from "./carriers.js"
import { ordinary } from "./ordinary.js"
import { call, failureOf, methods, type World } from "./world.js"

const { createUser, deleteUser } = UserService.method
const isEither = (method: DescMethodUnary) => [createUser.name, deleteUser.name].includes(method.name)

export function describeRepetitions(world: World, carrier: Carrier): void {
  const client = () => world.clients[carrier.name] as AuthwireClient
  const withKey = (key: string) => ({ headers: { "idempotency-key": key, "x-request-id": "of-the-repetitions" } })

  describe("a call repeated with its idempotency key", () => {
    // What is repeated is decided behind all transports. One method shows for each carrier that it carries the key.
    const isFirst = carrier === carriers[0]
    test("gets the first response, to the byte, whatever it writes and over every carrier", async () => {
      const repeated = new Set<string>()
      for (const [method, request] of isFirst ? ordinary : ordinary.filter(([method]) => isEither(method))) {
        // The service generates the id, and the method only reads.
        if (method === SessionService.method.getSession) continue
        const options = withKey(crypto.randomUUID())
        const made = async (by: AuthwireClient) =>
          Buffer.from(toBinary(method.output, await call(by, method, request, options)))
        const first = await made(client())
        if (!getOption(method, repeatable)) continue
        repeated.add(method.name)
        for (const by of [client(), world.reference]) {
          expect([method.name, first.equals(await made(by))]).toEqual([method.name, true])
        }
      }
      const all = methods.filter((method) => getOption(method, repeatable) && (isFirst || isEither(method)))
      expect(repeated).toEqual(new Set(all.map(({ name }) => name)))
    })

    test("with another request or for another method is rejected", async () => {
      const options = withKey(crypto.randomUUID())
      const id = crypto.randomUUID()
      await client().users.createUser({ id }, options)
      for (const [method, request] of [
        [createUser, { id, name: "Ada" }],
        [createUser, {}],
        [deleteUser, { id }],
      ] as const) {
        expect(await failureOf(call(client(), method, request, options))).toMatchObject({
          code: "FailedPrecondition",
          infos: [{ reason: "IDEMPOTENCY_KEY_REUSED", domain: "authwire" }],
        })
      }
      expect((await client().users.getUser({ id })).user).toMatchObject({ id })
    })
  })

  test.each([
    ["too short", "k".repeat(15)],
    ["too long", "k".repeat(256)],
    ["with a space", "key of the application"],
  ])("an idempotency key that is %s is rejected, by its name and its rule", async (_, key) => {
    const name = crypto.randomUUID()
    expect(await failureOf(client().users.createUser({ name }, withKey(key)))).toMatchObject({
      code: "InvalidArgument",
      infos: [{ reason: "INVALID_FIELD" }],
      violations: [
        { field: "idempotency-key", description: "must be 16 to 255 visible ASCII characters, without spaces" },
      ],
    })
  })

  test("a method that only reads ignores the key", async () => {
    const failed = await failureOf(client().users.getUser({ id: "nobody" }, withKey("short")))
    expect(failed.infos).toMatchObject([{ reason: "USER_NOT_FOUND" }])
  })
}
