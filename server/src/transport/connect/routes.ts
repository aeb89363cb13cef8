import { create, type DescMethod, type Message } from "@bufbuild/protobuf"
import {
  type ConnectRouter,
  createContextKey,
  type HandlerContext,
  type MethodImpl,
  type ServiceImpl,
} from "@connectrpc/connect"
import { type Failure, toFailure } from "../../errors/failure.js"
import { connectErrorOf } from "../../errors/status.js"
import type { Call } from "../../rpc/call.js"
import type { Method, Router } from "../../rpc/router.js"
import { itemsOf } from "../../util/items.js"
import { acquireSlot } from "../limits/connection.js"
import type { HttpCall, HttpStreamCall, HttpUnaryCall } from "./call.js"
import type { HttpExchange } from "./exchange.js"
import type { Whole } from "./whole-messages.js"

/** The call of a request, which is passed to Connect's handlers through its context values. */
export interface HttpRequest {
  readonly begun: HttpUnaryCall<Uint8Array, Uint8Array> | HttpStreamCall
  /** The messages of the request. Connect passes an empty one for each. */
  readonly messages: Whole
  /** The encoded answers for which Connect has an empty message: see withMessages. */
  readonly encoded: Uint8Array[]
}

export const requestKey = createContextKey<HttpRequest | undefined>(undefined)

/** The options of a call that do not depend on how its header is read. */
export function callOptions({ connection, closing }: HttpExchange, method: Method, rejection: Failure | undefined) {
  const acquire = method.isOpen ? undefined : (call: Call) => acquireSlot(connection, call, closing)
  return { transport: "http", rejection, connection, acquireSlot: acquire }
}

/** Cancels a call when its client disconnects, and limits the time to receive its rejection. */
export function follow(begun: HttpCall, exchange: HttpExchange): void {
  exchange.closing.once("close", () => begun.call.cancel())
  begun.admitted.catch(() => exchange.limitTime())
}

/** Returns the call that Connect answers, which has its header and trailer from now on. */
function requestOf(context: HandlerContext): HttpRequest {
  const request = context.values.get(requestKey)
  if (request === undefined) throw new Error("Connect has lost the state of a request")
  request.begun.call.metadata = { header: context.responseHeader, trailer: context.responseTrailer }
  return request
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
  const empty = create(method.desc.output)
  if (method.desc.methodKind === "unary") {
    return (async (_: Message, context: HandlerContext) => {
      const asked = requestOf(context)
      const { begun, messages } = asked
      try {
        asked.encoded.push(await (begun as HttpUnaryCall<Uint8Array, Uint8Array>).answer(messages.next()))
        return empty
      } catch (error) {
        throw connectErrorOf(toFailure(error), begun.call.requestId)
      }
    }) as MethodImpl<DescMethod>
  }
  const stream = (requests: Message | AsyncIterable<Message>, context: HandlerContext) => {
    const asked = requestOf(context)
    const own = wholeOf(Symbol.asyncIterator in requests ? requests : [requests], asked.messages)
    const answers = (asked.begun as HttpStreamCall).answers(own)[Symbol.asyncIterator]()
    const next = async () => {
      const { done, value } = await answers.next()
      if (done === true) return undefined
      asked.encoded.push(value)
      return empty
    }
    return itemsOf<Message>(next, async () => answers.return?.())
  }
  if (method.desc.methodKind !== "client_streaming") return stream as MethodImpl<DescMethod>
  return (async (requests: AsyncIterable<Message>, context: HandlerContext) => {
    for await (const only of stream(requests, context)) return only
    throw new Error(`${method.desc.name} has not answered`)
  }) as MethodImpl<DescMethod>
}

/** Returns a message of the request for each empty one. */
function wholeOf(empty: Iterable<Message> | AsyncIterable<Message>, messages: Whole): AsyncIterable<Uint8Array> {
  const reader = Symbol.asyncIterator in empty ? empty[Symbol.asyncIterator]() : empty[Symbol.iterator]()
  const next = async () => ((await reader.next()).done === true ? undefined : messages.next())
  return itemsOf(next, async () => reader.return?.())
}
