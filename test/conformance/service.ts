// The ConformanceService of the suite, as its documentation describes it, for the router that carries the methods of Authwire.

import { setTimeout as delay } from "node:timers/promises"
import { create, type Message } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { Failure } from "../../server/dist/errors/failure.js"
import type { Call } from "../../server/dist/rpc/call.js"
import type { Registration } from "../../server/dist/rpc/router.js"
import { grpcTimeout } from "../../server/dist/transport/listener/timeout.js"
import {
  conformanceService,
  type Header,
  type RequestInfo,
  registry,
  type StreamRequest,
  type SuiteError,
  schemaOf,
  type UnaryRequest,
  type UnaryResponseDefinition,
} from "./messages.ts"

/** The request headers that the test cases set. A call of Authwire has no list of all its headers. */
const headersOfSuite = ["x-conformance-test", "x-custom-header"]

const requestInfoSchema = schemaOf("ConformancePayload.RequestInfo")

export const conformance: Registration = {
  desc: conformanceService,
  implementation: {
    unary: (request: UnaryRequest, _: unknown, call: Call) => single([request], request.responseDefinition, call),
    idempotentUnary: (request: UnaryRequest, _: unknown, call: Call) =>
      single([request], request.responseDefinition, call),
    async unimplemented() {
      throw failure({ code: 12, message: "not implemented", details: [] })
    },
    async *clientStream(incoming: AsyncIterable<UnaryRequest>, _: unknown, call: Call) {
      const requests: UnaryRequest[] = []
      for await (const request of incoming) requests.push(request)
      yield await single(requests, requests[0]?.responseDefinition, call)
    },
    serverStream: (request: StreamRequest, _: unknown, call: Call) => answers(only(request), call),
    bidiStream: (requests: AsyncIterable<StreamRequest>, _: unknown, call: Call) => answers(requests, call),
  },
}

async function* only(request: StreamRequest): AsyncIterable<StreamRequest> {
  yield request
}

async function single(requests: Message[], asked: UnaryResponseDefinition | undefined, call: Call) {
  setMetadata(asked, call)
  const requestInfo = infoOf(requests, call)
  if (asked !== undefined && asked.responseDelayMs > 0) await delay(asked.responseDelayMs)
  if (asked?.response.case === "error") throw failure(asked.response.value, requestInfo)
  const data = asked?.response.case === "responseData" ? { data: asked.response.value } : {}
  return { payload: { ...data, requestInfo } }
}

/** Answers each request when it arrives if it is full-duplex, and otherwise once all of them are here. */
async function* answers(incoming: AsyncIterable<StreamRequest>, call: Call) {
  let first: StreamRequest | undefined
  let unanswered: StreamRequest[] = []
  let sent = 0
  const next = async () => {
    const definition = first?.responseDefinition
    const data = definition?.responseData[sent]
    if (data === undefined) return undefined
    if (definition !== undefined && definition.responseDelayMs > 0) await delay(definition.responseDelayMs)
    const isFullInfo = sent++ === 0
    const requestInfo = isFullInfo ? infoOf(unanswered, call) : { requests: packed(unanswered) }
    unanswered = []
    return { payload: { data, requestInfo } }
  }
  for await (const request of incoming) {
    if (first === undefined) {
      first = request
      setMetadata(request.responseDefinition, call)
    }
    unanswered.push(request)
    if (!first.fullDuplex) continue
    const answer = await next()
    if (answer === undefined) break
    yield answer
  }
  for (let answer = await next(); answer !== undefined; answer = await next()) yield answer
  const error = first?.responseDefinition?.error
  if (error !== undefined) throw failure(error, sent === 0 ? infoOf(unanswered, call) : undefined)
}

function setMetadata(asked: { responseHeaders: Header[]; responseTrailers: Header[] } | undefined, call: Call): void {
  call.metadata ??= { header: new Headers(), trailer: new Headers() }
  append(call.metadata.header, asked?.responseHeaders)
  append(call.metadata.trailer, asked?.responseTrailers)
}

function append(headers: Headers, added: Header[] = []): void {
  for (const { name, value } of added) for (const one of value) headers.append(name, one)
}

function infoOf(requests: Message[], call: Call): RequestInfo {
  const timeoutMs = timeoutOf(call)
  return {
    requestHeaders: headersOfSuite.flatMap((name) => {
      const value = call.header(name)
      return value === undefined ? [] : [{ name, value: [value] }]
    }),
    requests: packed(requests),
    ...(timeoutMs !== undefined && { timeoutMs: BigInt(Math.round(timeoutMs)) }),
  }
}

/** The timeout as the caller gave it. The deadline of a unary call also has the limit of the service. */
function timeoutOf(call: Call): number | undefined {
  const connect = call.header("connect-timeout-ms")
  return connect === undefined ? grpcTimeout({ "grpc-timeout": call.header("grpc-timeout") }) : Number(connect)
}

function packed(requests: Message[]) {
  return requests.map((request) => {
    const schema = registry.getMessage(request.$typeName)
    if (schema === undefined) throw new Error(`${request.$typeName} is not of the suite`)
    return anyPack(schema, request)
  })
}

/** Creates the error that the suite asks for. A caller that got no message learns by its details what the service has received. */
function failure({ code, message = "", details }: SuiteError, info?: RequestInfo): Failure {
  const more = info === undefined ? [] : [anyPack(requestInfoSchema, create(requestInfoSchema, { ...info }))]
  return new Failure("INTERNAL", { code, message, details: [...details, ...more] })
}
