import { GetUserResponseSchema, UserService } from "@authwire/proto"
import { create, toBinary } from "@bufbuild/protobuf"
import { expect, test } from "@jest/globals"
import { codecOf } from "./codec.js"

test("S-22: small values in the extra of a user are encoded in a third of the time of protobuf-es", () => {
  const answer = create(GetUserResponseSchema, { user: { id: "a", extra: { zeros: Array<number>(32_000).fill(0) } } })
  const { encode } = codecOf(UserService.method.getUser, async () => {})
  const ways = { own: encode, general: () => toBinary(GetUserResponseSchema, answer) }
  const times = { own: 0, general: 0 }
  for (let round = 0; round < 30; round++)
    for (const way of ["own", "general"] as const) {
      const begun = process.threadCpuUsage()
      ways[way](answer)
      const { user, system } = process.threadCpuUsage(begun)
      if (round >= 10) times[way] += user + system
    }
  process.stderr.write(`CPU of an answer: ${times.own / 20_000} ms, by protobuf-es ${times.general / 20_000} ms\n`)
  expect(times.own).toBeLessThan(times.general / 3)
})
