import { UserService } from "@authwire/proto"
import { expect, test } from "@jest/globals"
import { Failure } from "../errors/failure.js"
import type { Admission, Interceptor } from "./interceptor.js"
import { createRouter, type Method, register } from "./router.js"

/** Makes a call that passes `admissions` in this order before `read` reads its request. Resolves to its error. */
async function call(read: () => Uint8Array, admissions: Admission[], timeoutMs?: number): Promise<unknown> {
  const notFound = async () => {
    throw new Failure("USER_NOT_FOUND")
  }
  const implementation = Object.fromEntries(UserService.methods.map(({ localName }) => [localName, notFound]))
  const [access, ...interceptors] = admissions.map((admit): Interceptor => ({ admit: () => admit }))
  const router = createRouter({
    services: [register(UserService, implementation as never)],
    observer: {
      clock: () => 0,
      recorderOf: () => () => {},
      rejected() {},
    },
    access: access as Interceptor,
    interceptors,
    maxDeadlineMs: 1_000,
    limitOf: () => undefined,
    pauseAfter: async () => {},
  })
  const method = router.services[0]?.methods[0] as Method
  const call = method.begin({ transport: "test", timeoutMs, header: () => undefined })
  const failure = await method.unaryBytes(read, call).catch((error: unknown) => error)
  call.end()
  await router.drain(0)
  return failure
}

// An admission is asynchronous if it has to look up a key, and synchronous if it checks the number of calls.
test.each([
  ["at once, at once and at once", false, false, false],
  ["later, at once and at once", true, false, false],
  ["at once, later and at once", false, true, false],
  ["later, later and later", true, true, true],
])(
  "admissions that decide %s run in order before the request is read, and each may reject the call",
  async (_, ...isLater) => {
    const asked: (number | "read")[] = []
    const read = () => {
      asked.push("read")
      return new Uint8Array()
    }
    const admission =
      (index: number, rejects: boolean): Admission =>
      () => {
        const answer = () => {
          asked.push(index)
          if (rejects) throw new Failure("RATE_LIMITED")
        }
        if (isLater[index]) return new Promise<void>((resolve) => setImmediate(resolve)).then(answer)
        answer()
        return undefined
      }
    const reasonAndAsked = async (rejecting: number) => {
      asked.length = 0
      const failure = await call(
        read,
        isLater.map((_, index) => admission(index, index === rejecting)),
      )
      return [(failure as Failure).reason, ...asked]
    }
    expect(await reasonAndAsked(-1)).toEqual(["USER_NOT_FOUND", 0, 1, 2, "read"])
    expect(await reasonAndAsked(0)).toEqual(["RATE_LIMITED", 0])
    expect(await reasonAndAsked(1)).toEqual(["RATE_LIMITED", 0, 1])
    expect(await reasonAndAsked(2)).toEqual(["RATE_LIMITED", 0, 1, 2])
  },
)

test("a call whose deadline has passed counts against every limit, and its request is not read", async () => {
  const asked: string[] = []
  const read = () => {
    asked.push("read")
    return new Uint8Array()
  }
  const key: Admission = () => void asked.push("key")
  const admitted: Admission = () => void asked.push("limit")
  const rejected: Admission = () => {
    throw new Failure("RATE_LIMITED")
  }
  expect(await call(read, [key, admitted], 0)).toMatchObject({ reason: "DEADLINE_EXCEEDED" })
  expect(asked).toEqual(["key", "limit"])
  expect(await call(read, [key, rejected], 0)).toMatchObject({ reason: "RATE_LIMITED" })
})
