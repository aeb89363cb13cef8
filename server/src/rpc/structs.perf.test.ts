import { CreateUserRequestSchema, GetUserResponseSchema, ListUsersResponseSchema, UserService } from "@authwire/proto"
import { create, fromBinary, toBinary, toJsonString } from "@bufbuild/protobuf"
import { expect, test } from "@jest/globals"
import { codecOf } from "./codec.js"

const owner = { owner: { tenant: "a", keyId: undefined }, signal: new AbortController().signal }
const user = { id: "a", extra: { zeros: Array<number>(32_000).fill(0) } }
const one = create(GetUserResponseSchema, { user })
const page = create(ListUsersResponseSchema, { users: [user] })
const pieces = Buffer.concat(Array.from({ length: 500 }, (_, n) => pieceOf(`property ${n}`)))
const none = async () => {}
const { encode } = codecOf(UserService.method.getUser, none)
const { encodeJsonInTurns } = codecOf(UserService.method.listUsers, none)
const { decode } = codecOf(UserService.method.createUser, none)

/** A request whose extra has one property. A message that occurs again is merged. */
function pieceOf(name: string): Uint8Array {
  return toBinary(CreateUserRequestSchema, create(CreateUserRequestSchema, { extra: { [name]: 0 } }))
}

test.each([
  ["an answer", () => encode(one), () => toBinary(GetUserResponseSchema, one)],
  ["a page in JSON", () => encodeJsonInTurns(page, owner), () => toJsonString(ListUsersResponseSchema, page)],
  ["a request in pieces", () => decode(pieces), () => fromBinary(CreateUserRequestSchema, pieces)],
])(
  "S-22: small values in the extra of a user are encoded or decoded in %s in a third of the time of protobuf-es",
  async (what, own, general) => {
    const ways = { own, general }
    const times = { own: 0, general: 0 }
    for (let round = 0; round < 30; round++)
      for (const way of ["own", "general"] as const) {
        const begun = process.threadCpuUsage()
        await ways[way]()
        const { user, system } = process.threadCpuUsage(begun)
        if (round >= 10) times[way] += user + system
      }
    process.stderr.write(`CPU of ${what}: ${times.own / 20_000} ms, by protobuf-es ${times.general / 20_000} ms\n`)
    expect(times.own).toBeLessThan(times.general / 3)
  },
)
