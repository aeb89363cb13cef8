import * as schema from "@authwire/proto"
import { Authorization } from "@authwire/proto/envoy"
import { create, type DescField, type DescMessage, type DescService, ScalarType, toBinary } from "@bufbuild/protobuf"
import { expect, test } from "@jest/globals"
import { createRouter } from "./router.js"

const isService = (value: unknown): value is DescService => (value as Partial<DescService>).kind === "service"
const services: DescService[] = [...Object.values<unknown>(schema).filter(isService), Authorization]

/** Longer than a page may be, which is what the first answers of a list are expected to be. */
const text = "x".repeat(1_000_000)
/** What a call takes of the limit when the answer before had such a text. */
const cost = 62

type Init = Record<string, unknown>

/** Returns a message with a long text in the first field that may have one; undefined if there is none. */
function largeOf(desc: DescMessage, outer: readonly DescMessage[] = []): Init | undefined {
  if (desc.typeName === "google.protobuf.Struct") return { text }
  if (outer.includes(desc) || desc.file.proto.package === "google.protobuf") return undefined
  for (const field of desc.fields) {
    const one = largeIn(field, [...outer, desc])
    if (one === undefined) continue
    const value = field.fieldKind === "list" ? [one] : one
    const { localName, oneof } = field
    return oneof === undefined ? { [localName]: value } : { [oneof.localName]: { case: localName, value } }
  }
  return undefined
}

function largeIn({ scalar, message }: DescField, outer: readonly DescMessage[]): unknown {
  if (scalar === ScalarType.STRING) return text
  if (scalar === ScalarType.BYTES) return Buffer.from(text)
  return message && largeOf(message, outer)
}

test("S-22: the share of a key counts the bytes of the answers of each method that may have large ones, however it is called", async () => {
  const entered: number[] = []
  const router = createRouter({
    services: services.map((desc) => ({
      desc,
      implementation: Object.fromEntries(
        desc.methods.map(({ localName, output }) => [localName, async () => create(output, largeOf(output))]),
      ),
    })),
    observer: { clock: () => 0, recorderOf: () => () => {}, rejected() {} },
    access: {},
    interceptors: [],
    maxDeadlineMs: 60_000,
    limitOf: () => ({
      rejects: () => false,
      enter: (_owner, _signal, cost) => void entered.push(cost),
      leave() {},
      load: () => ({ maxCalls: 1, active: 0, waiting: 0, keys: 0 }),
    }),
    pauseAfter: async () => {},
  })
  const costs: Record<string, number[]> = {}
  const streams: string[] = []
  for (const { desc, begin, unary, unaryBytes } of router.services.flatMap(({ methods }) => methods)) {
    if (desc.methodKind !== "unary") streams.push(desc.name)
    else if (largeOf(desc.output) !== undefined) {
      const request = create(desc.input)
      const bytes = toBinary(desc.input, request)
      const called = async (keyId: string, run: (call: ReturnType<typeof begin>) => Promise<unknown>) => {
        for (let n = 0; n < 2; n++) {
          const call = begin({ transport: "test", timeoutMs: undefined, header: () => undefined })
          call.identity = { tenant: "t", keyId, hasScope: () => true }
          await run(call).finally(() => call.end())
        }
        return entered.at(-1) ?? 0
      }
      costs[desc.name] = [
        await called("m", (call) => unary(() => request, call)),
        await called("b", (call) => unaryBytes(() => bytes, call)),
      ]
    }
  }
  await router.drain(0)
  expect(Object.entries(costs).filter(([, found]) => Math.min(...found) < cost)).toEqual([])
  expect(Object.keys(costs)).toEqual(
    expect.arrayContaining(["GetUser", "GetSessionAndUser", "GetAccount", "Introspect", "Check"]),
  )
  // A stream has a share of its own, and its messages are small, or are those of calls.
  expect(streams.sort()).toEqual(["Follow", "Pipeline", "Watch"])
})
