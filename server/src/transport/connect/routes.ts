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
import type { Incoming } from "../../rpc/active-calls.js"
import type { Method, Router } from "../../rpc/router.js"
import { markAdmitted } from "../closing/close-stream.js"
import { acquireSlot, type Connection } from "../limits/connection.js"
import type { OpenMethods } from "../limits/open-methods.js"
import type { RequestUsage } from "../limits/request-usage.js"
import { beginStream, beginUnary, type HttpStreamCall, type HttpUnaryCall } from "./call.js"
import { limitTime } from "./rejections.js"

/** The state of a request that is passed to Connect's handlers through its context values. */
export interface Arrival {
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

export const arrivalKey = createContextKey<Arrival | undefined>(undefined)

/** Begins a call once its header is read, and delays Connect's reading of the request until the call is admitted. */
export async function requestGate(context: HandlerContext): Promise<void> {
  const arrival = arrivalOf(context)
  const { method, connection } = arrival
  const incoming: Incoming = {
    transport: "http",
    timeoutMs: context.timeoutMs(),
    header: (name) => context.requestHeader.get(name) ?? undefined,
    certificateNames: connection.certificateNames,
    rejection: arrival.rejection,
    connection,
    turn: method.isOpen ? undefined : (call) => acquireSlot(connection, call, arrival.closing),
  }
  const call =
    method.desc.methodKind === "unary"
      ? beginUnary(method, incoming)
      : beginStream(method, incoming, (isFirst) => {
          arrival.usage.read()
          const tooMany = method.isOpen && !isFirst ? arrival.openMethods.request(method.desc, connection) : undefined
          if (tooMany !== undefined) throw tooMany
        })
  arrival.call = call
  arrival.closing.once("close", () => call.active.cancel())
  call.admitted.catch(() => limitTime(arrival.closing, arrival.cut))
  await call.admitted
  if (!method.isOpen) markAdmitted(arrival.closing)
}

function arrivalOf(context: HandlerContext): Arrival {
  const arrival = context.values.get(arrivalKey)
  if (arrival === undefined) throw new Error("a request without an arrival")
  return arrival
}

export function callOf({ call }: Arrival): HttpUnaryCall | HttpStreamCall {
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
      (callOf(arrivalOf(context)) as HttpUnaryCall).answer(request)) as MethodImpl<DescMethod>
  }
  return ((requests: Message | AsyncIterable<Message>, context: HandlerContext) =>
    (callOf(arrivalOf(context)) as HttpStreamCall).answers(
      Symbol.asyncIterator in requests ? requests : single(requests),
    )) as MethodImpl<DescMethod>
}

async function* single(request: Message): AsyncIterable<Message> {
  yield request
}
