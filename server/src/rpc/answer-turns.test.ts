import { GetUserRequestSchema, ListUsersRequestSchema, ListUsersResponseSchema, UserService } from "@authwire/proto"
import { create, fromBinary, toBinary, toJsonString } from "@bufbuild/protobuf"
import { afterEach, expect, test } from "@jest/globals"
import type { ConcurrencyLimit } from "../overload/concurrency-limit.js"
import { turnLimit } from "../util/turn-limit.js"
import { codecOf } from "./codec.js"
import { createRouter, type Router, register } from "./router.js"

const page = create(ListUsersResponseSchema, {
  users: ["a", "b", "c", "d"].map((id) => ({ id, image: id.repeat(100_000), extra: { name: id, list: [1, null] } })),
  nextPageToken: "next",
})

let router: Router | undefined
afterEach(() => router?.drain(0))

/** The listUsers and getUser of a service in which every answer is a user, or a page of users. */
function setUp(limit: ConcurrencyLimit, turn?: (signal?: AbortSignal) => Promise<void>) {
  const names = UserService.methods.map(({ localName }) => localName)
  const answers = { listUsers: async () => page, getUser: async () => ({ user: page.users[0] }) }
  const none = Object.fromEntries(names.map((name) => [name, async () => ({})]))
  router = createRouter({
    services: [register(UserService, { ...none, ...answers } as never)],
    observer: { clock: () => 0, recorderOf: () => () => {}, rejected() {} },
    access: {},
    interceptors: [],
    maxDeadlineMs: 60_000,
    limitOf: () => limit,
    pauseAfter: async () => {},
    ...(turn && { turn: (_, signal) => turn(signal) }),
  })
  const methods = router.services[0]?.methods ?? []
  const called = (name: string, timeoutMs?: number) => {
    const method = methods.find(({ desc }) => desc.localName === name) as (typeof methods)[0]
    const call = method.begin({ transport: "test", timeoutMs, header: () => undefined })
    call.identity = { tenant: "t", keyId: "k", hasScope: () => true }
    return { method, call }
  }
  const [users, user] = [create(ListUsersRequestSchema, {}), create(GetUserRequestSchema, { id: "a" })]
  return {
    bytes: async (name: "listUsers" | "getUser", timeoutMs?: number) => {
      const { method, call } = called(name, timeoutMs)
      const request =
        name === "getUser" ? toBinary(GetUserRequestSchema, user) : toBinary(ListUsersRequestSchema, users)
      return method.unaryBytes(() => request, call).finally(() => call.end())
    },
    message: async (name: "listUsers" | "getUser", timeoutMs?: number) => {
      const { method, call } = called(name, timeoutMs)
      return method.unary(() => (name === "getUser" ? user : users), call).finally(() => call.end())
    },
  }
}

const caller = { owner: { tenant: "t", keyId: "k" }, signal: new AbortController().signal }
const ofProtobuf = (bytes: Uint8Array) => fromBinary(ListUsersResponseSchema, bytes)

test.each([
  ["protobuf", "encodeInTurns", ofProtobuf],
  ["JSON", "encodeJsonInTurns", String],
] as const)(
  "S-22: other callbacks run between the items of a page in %s, which is that of all of them",
  async (format, encode, read) => {
    let time = 0
    // Each piece takes a turn of the event loop.
    const turn = turnLimit(5, () => (time += 10))
    const codec = codecOf(UserService.method.listUsers, () => turn())
    let turns = 0
    let isOver = false
    const count = () => {
      turns++
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    // The call waits for the turn of the first item.
    await turn()
    const encoded = Buffer.from(await codec[encode](page, caller))
    isOver = true
    expect(turns).toBeGreaterThanOrEqual(page.users.length - 1)
    expect(read(encoded)).toEqual(format === "JSON" ? toJsonString(ListUsersResponseSchema, page) : page)
  },
)

test.each(["encodeInTurns", "encodeJsonInTurns"] as const)(
  "S-22: %s ends when nobody waits for the page",
  async (encode) => {
    const ended = new AbortController()
    let turns = 0
    const codec = codecOf(UserService.method.listUsers, async () => {
      turns++
      ended.abort(new Error("nobody waits"))
    })
    await expect(codec[encode](page, { ...caller, signal: ended.signal })).rejects.toThrow("nobody waits")
    expect(turns).toBe(1)
  },
)

test.each([[[]], [["a"]]])("S-22: a page with the users %j is as Connect would encode it in JSON", async (ids) => {
  const { encodeJsonInTurns } = codecOf(UserService.method.listUsers, async () => {})
  const few = create(ListUsersResponseSchema, { users: ids.map((id) => ({ id })), nextPageToken: "next" })
  expect(String(await encodeJsonInTurns(few, caller))).toBe(toJsonString(ListUsersResponseSchema, few))
})

test("S-22: a page of small items waits for no turn, in which there may be large items of others", async () => {
  const { encodeInTurns } = codecOf(UserService.method.listUsers, () => new Promise(() => {}))
  const small = create(ListUsersResponseSchema, { users: Array.from({ length: 100 }, (_, n) => ({ id: `${n}` })) })
  expect(fromBinary(ListUsersResponseSchema, await encodeInTurns(small, caller))).toEqual(small)
})

const unlimited: ConcurrencyLimit = {
  rejects: () => false,
  enter: () => undefined,
  leave() {},
  load: () => ({ maxCalls: 1, active: 0, waiting: 0, keys: 0 }),
}

test.each(["bytes", "message"] as const)(
  "S-22: large answers, as %s, are encoded in turns, also if they have one item each",
  async (kind) => {
    let time = 0
    // Each piece takes a turn of the event loop.
    const calls = setUp(
      unlimited,
      turnLimit(5, () => (time += 10)),
    )
    await calls[kind]("getUser")
    let turns = 0
    let isOver = false
    const count = () => {
      turns++
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    const ends = await Promise.all([1, 2, 3, 4].map(() => calls[kind]("getUser").then(() => turns)))
    isOver = true
    expect(new Set(ends).size).toBe(4)
  },
)

test("S-22: a call that costs more than others waits for a turn before its handler runs, and before its answer is encoded", async () => {
  let turns = 0
  const calls = setUp(unlimited, async () => void turns++)
  const waits: number[] = []
  for (let call = 0; call < 2; call++) {
    await calls.bytes("getUser")
    waits.push(turns)
  }
  expect(waits).toEqual([0, 2])
})

test.each(["bytes", "message"] as const)(
  "S-22: a call with a large answer, as %s, ends at its deadline although its turn has not come, and needs none then",
  async (kind) => {
    let begin = () => {}
    let wasAborted: boolean | undefined
    const calls = setUp(unlimited, async (signal) => {
      await new Promise<void>((resolve) => (begin = resolve))
      wasAborted = signal?.aborted
    })
    await calls[kind]("getUser")
    await expect(calls[kind]("getUser", 20)).rejects.toMatchObject({ reason: "DEADLINE_EXCEEDED" })
    begin()
    await new Promise(setImmediate)
    expect(wasAborted).toBe(true)
  },
)

test.each(["bytes", "message"] as const)(
  "S-22: a call takes of the limit what the answers before had, as %s, and gives it back",
  async (kind) => {
    const [entered, left]: [number[], number[]] = [[], []]
    const calls = setUp({
      rejects: () => false,
      enter: (_owner, _signal, cost) => void entered.push(cost),
      leave: (_owner, cost) => void left.push(cost),
      load: () => ({ maxCalls: 1, active: 0, waiting: 0, keys: 0 }),
    })
    for (let call = 0; call < 2; call++) await calls[kind]("getUser")
    // A first page may be a full one.
    for (let call = 0; call < 2; call++) await calls[kind]("listUsers")
    expect(entered).toEqual([1, 7, 33, 29])
    expect(left).toEqual(entered)
  },
)
