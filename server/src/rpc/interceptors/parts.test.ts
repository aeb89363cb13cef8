import {
  GetSessionAndUserRequestSchema,
  GetTokenRequestSchema,
  LinkAccountRequestSchema,
  PipelineRequestSchema,
  UserService,
} from "@authwire/proto"
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf"
import { expect, test } from "@jest/globals"
import { countParts, hasParts, validation } from "./validation.js"

const many = 1_000_000
const times = <T>(length: number, value: T): T[] => Array.from({ length }, () => value)
/** Returns how many more parts a message has than an empty one. */
const count = <Desc extends DescMessage>(desc: Desc, init: MessageInitShape<Desc>) =>
  countParts(create(desc, init), many) - countParts(create(desc), many)

test("a message of texts only has no parts", () => {
  expect([GetSessionAndUserRequestSchema, LinkAccountRequestSchema].map(hasParts)).toEqual([false, true])
})

test("entries of lists, of maps and of JSON are parts, at every depth; bytes are not", () => {
  expect(count(GetTokenRequestSchema, { secrets: ["x", "y"] })).toBe(2)
  const call = countParts(create(PipelineRequestSchema, { calls: [{}] }), many)
  const calls = create(PipelineRequestSchema, {
    calls: [{ header: { a: "b", c: "d" }, message: new Uint8Array(10_000) }],
  })
  expect(countParts(calls, many) - call).toBe(2)
  const extra = { a: 1, b: [1, [2, 3]], c: { d: { e: null } } }
  expect(count(LinkAccountRequestSchema, { extra })).toBe(10)
})

test("the count stops soon after its limit", () => {
  const extra = Object.fromEntries(times(1000, 0).map((_, index) => [`k${index}`, index]))
  expect(countParts({ extra, rest: times(1000, 0) }, 10)).toBe(11)
})

test("rules are about the properties of JSON, so that what is within them is not looked through", () => {
  const check = validation().check?.(UserService.method.createUser as never)
  const rejected = (extra: object) => () => check?.({ $typeName: "authwire.v1.CreateUserRequest", extra } as never)
  let reads = 0
  const read = {
    get counted() {
      return reads++
    },
  }
  const within = [...times(1000, 0), read]
  expect(rejected({ within })).not.toThrow()
  // By the count of the parts.
  expect(reads).toBe(1)
  expect(rejected({ within, email: null })).not.toThrow()
  expect(rejected({ within, email: "a" })).toThrow("has a field of its own")
})
