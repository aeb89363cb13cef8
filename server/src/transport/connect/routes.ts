import type { EventEmitter } from "node:events"
import type { DescMethod, Message } from "@bufbuild/protobuf"
import {
  type ConnectRouter,
  createContextKey,
  type HandlerContext,
  type MethodImpl,
  type ServiceImpl,
} from "@connectrpc/connect"
import type { Failure } from "../../errors/failure.js"
import type { CallOptions } from "../../rpc/call.js"
import type { Method, Router } from "../../rpc/router.js"
import { markAdmitted } from "../closing/close-stream.js"
import { acquireSlot, type Connection } from "../limits/connection.js"
import type { OpenMethods } from "../limits/open-methods.js"
import type { RequestUsage } from "../limits/request-usage.js"
import { beginStream, beginUnary, type HttpStreamCall, type HttpUnaryCall } from "./call.js"
import { limitTime } from "./rejections.js"

/** The state of a request that is passed to Connect's handlers through its context values. */
export interface HttpRequest {
  readonly method: Method
  readonly connection: Connection
  readonly openMethods: OpenMethods
  readonly rejection: Failure | undefined
  readonly usage: RequestUsage
  /** Emits "close" when the request is over or its client has disconnected. */
  readonly closing: EventEmitter
  /** Aborts the request at once. */
  readonly cut: () => void
  call?: HttpUnaryCall | HttpStreamCall
}

export const requestKey = createContextKey<HttpRequest | undefined>(undefined)

/** Begins a call once its header is read, and delays Connect's reading of the request until the call is admitted. */
export async function requestGate(context: HandlerContext): Promise<void> {
  const request = requestOf(context)
  const { method, connection } = request
  const options: CallOptions = {
    transport: "http",
    timeoutMs: context.timeoutMs(),
    header: (name) => context.requestHeader.get(name) ?? undefined,
    rejection: request.rejection,
    connection,
    acquireSlot: method.isOpen ? undefined : (call) => acquireSlot(connection, call, request.closing),
  }
  const begun =
    method.desc.methodKind === "unary"
      ? beginUnary(method, options)
      : beginStream(method, options, (isFirst) => {
          request.usage.read()
          const tooMany = method.isOpen && !isFirst ? request.openMethods.request(method.desc, connection) : undefined
          if (tooMany !== undefined) throw tooMany
        })
  request.call = begun
  request.closing.once("close", () => begun.call.cancel())
  begun.admitted.catch(() => limitTime(request.closing, request.cut))
  await begun.admitted
  if (!method.isOpen) markAdmitted(request.closing)
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
    return ((request: Message, context: HandlerContext) =>
      (callOf(requestOf(context)) as HttpUnaryCall).answer(request)) as MethodImpl<DescMethod>
  }
  return ((requests: Message | AsyncIterable<Message>, context: HandlerContext) =>
    (callOf(requestOf(context)) as HttpStreamCall).answers(
      Symbol.asyncIterator in requests ? requests : single(requests),
    )) as MethodImpl<DescMethod>
}

async function* single(request: Message): AsyncIterable<Message> {
  yield request
}
