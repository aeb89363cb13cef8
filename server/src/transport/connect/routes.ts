import type { DescMethod, Message } from "@bufbuild/protobuf"
import {
  type ConnectRouter,
  createContextKey,
  type HandlerContext,
  type MethodImpl,
  type ServiceImpl,
} from "@connectrpc/connect"
import type { Failure } from "../../errors/failure.js"
import type { Call, CallOptions } from "../../rpc/call.js"
import type { Method, Router } from "../../rpc/router.js"
import { markAdmitted } from "../closing/close-stream.js"
import { acquireSlot } from "../limits/connection.js"
import type { OpenMethods } from "../limits/open-methods.js"
import type { RequestUsage } from "../limits/request-usage.js"
import { beginStream, beginUnary, type HttpStreamCall, type HttpUnaryCall } from "./call.js"
import type { HttpExchange } from "./exchange.js"
import type { UnparsedJson } from "./json-faults.js"

/** The state of a request that is passed to Connect's handlers through its context values. */
export interface HttpRequest {
  readonly method: Method
  readonly exchange: HttpExchange
  readonly openMethods: OpenMethods
  readonly rejection: Failure | undefined
  readonly usage: RequestUsage
  /** What has arrived of the request, if it is in JSON. */
  readonly unparsed: UnparsedJson | undefined
  call?: HttpUnaryCall | HttpStreamCall
}

export const requestKey = createContextKey<HttpRequest | undefined>(undefined)

/** Begins a call once its header is read, and delays Connect's reading of the request until the call is admitted. */
export async function requestGate(context: HandlerContext): Promise<void> {
  const request = requestOf(context)
  const { method, exchange } = request
  const options: CallOptions = {
    ...callOptions(exchange, method, request.rejection),
    timeoutMs: context.timeoutMs(),
    header: (name) => context.requestHeader.get(name) ?? undefined,
  }
  const begun =
    method.desc.methodKind === "unary"
      ? beginUnary(method, options)
      : beginStream(method, options, request.unparsed, (isFirst) => {
          request.usage.read()
          request.unparsed?.read()
          if (!method.isOpen || isFirst) return
          const tooMany = request.openMethods.request(method.desc, exchange.connection)
          if (tooMany !== undefined) throw tooMany
        })
  begun.call.metadata = { header: context.responseHeader, trailer: context.responseTrailer }
  request.call = begun
  follow(begun, exchange)
  await begun.admitted
  if (!method.isOpen) markAdmitted(exchange.closing)
}

/** The options of a call that do not depend on how its header is read. */
export function callOptions({ connection, closing }: HttpExchange, method: Method, rejection: Failure | undefined) {
  const acquire = method.isOpen ? undefined : (call: Call) => acquireSlot(connection, call, closing)
  return { transport: "http", rejection, connection, acquireSlot: acquire }
}

/** Cancels a call when its client disconnects, and limits the time to receive its rejection. */
export function follow(begun: HttpUnaryCall | HttpStreamCall, exchange: HttpExchange): void {
  exchange.closing.once("close", () => begun.call.cancel())
  begun.admitted.catch(() => exchange.limitTime())
}

function requestOf(context: HandlerContext): HttpRequest {
  const request = context.values.get(requestKey)
  if (request === undefined) throw new Error("Connect has lost the state of a request")
  return request
}

export function callOf({ call }: HttpRequest): HttpUnaryCall | HttpStreamCall {
  if (call === undefined) throw new Error("a request is read before its call has begun")
  return call
}

/** Adds the methods of the router to that of Connect. */
export function route(connectRouter: ConnectRouter, router: Router): void {
  for (const { desc, methods } of router.services) {
    const implementation: Record<string, MethodImpl<DescMethod>> = {}
    for (const method of methods) implementation[method.desc.localName] = adapt(method)
    connectRouter.service(desc, implementation as Partial<ServiceImpl<typeof desc>>)
  }
}

function adapt(method: Method): MethodImpl<DescMethod> {
  if (method.desc.methodKind === "unary") {
    return ((request: Message, context: HandlerContext) => {
      const state = requestOf(context)
      state.unparsed?.read()
      return (callOf(state) as HttpUnaryCall).answer(request)
    }) as MethodImpl<DescMethod>
  }
  const stream = (requests: Message | AsyncIterable<Message>, context: HandlerContext) =>
    (callOf(requestOf(context)) as HttpStreamCall).answers(
      Symbol.asyncIterator in requests ? requests : single(requests),
    )
  if (method.desc.methodKind !== "client_streaming") return stream as MethodImpl<DescMethod>
  return (async (requests: AsyncIterable<Message>, context: HandlerContext) => {
    for await (const only of stream(requests, context)) return only
    throw new Error(`${method.desc.name} has not answered`)
  }) as MethodImpl<DescMethod>
}

async function* single(request: Message): AsyncIterable<Message> {
  yield request
}
