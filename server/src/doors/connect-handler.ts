import http2 from "node:http2"
import type { DescMethod, Message } from "@bufbuild/protobuf"
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ContextValues,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type MethodImpl,
  type ServiceImpl,
} from "@connectrpc/connect"
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node"
import { type Dispatch, type Method, overloaded } from "../dispatch/dispatch.js"
import { type Incoming, type Refusal, type Running, requestIdOf } from "../dispatch/under-way.js"
import { Failure } from "../errors.js"
import { emptyRequest } from "./empty-request.js"
import { asUnreadable, withoutForeignErrors } from "./foreign-errors.js"
import { narrow, noteLasting } from "./narrow.js"
import { clampGrpcTimeout } from "./timeout.js"

type Handler = ConnectRouter["handlers"][number]
type NodeRequest = Parameters<typeof universalRequestFromNodeRequest>[0]
type NodeResponse = Parameters<typeof universalResponseToNodeResponse>[1]

export interface ConnectHandlerOptions {
  dispatch: Dispatch
  maxMessageBytes: number
  /** Answers requests for paths that are no method's. */
  otherwise: (request: NodeRequest, response: NodeResponse) => void
  /** Whom the client's certificate names, see Incoming. */
  certificateNames: (request: NodeRequest) => readonly string[] | undefined
}

const clientNames = createContextKey<readonly string[] | undefined>(undefined)
const refusalOfCall = createContextKey<Refusal | undefined>(undefined)

/** Serves the methods of the dispatch over Connect, gRPC-Web and gRPC, to Node's servers of HTTP/1.1 and HTTP/2. */
export function connectHandler(options: ConnectHandlerOptions): (request: NodeRequest, response: NodeResponse) => void {
  const { dispatch } = options
  const router = createConnectRouter({ readMaxBytes: options.maxMessageBytes })
  route(router, dispatch)
  const methods = new Map(dispatch.services.flatMap((service) => service.methods.map((one) => [one.desc, one])))
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]))

  return (request, response) => {
    // A client that goes away is an error of the request; whoever listens may have gone a moment before it is told.
    request.on("error", () => {})
    const handler = handlers.get(request.url?.split("?", 1)[0] ?? "")
    if (handler === undefined) return options.otherwise(request, response)
    // Connect also offers GET for methods without side effects: it would put the request, an e-mail address or a token,
    // into the URL, and that into the logs of proxies.
    if (request.method !== "POST") return refuse(response, 405, { allow: "POST" })
    if ("stream" in request && handler.method.methodKind !== "unary") noteLasting(request.stream)
    const noRoom = methods.get(handler.method)?.noRoom()
    if (noRoom === undefined) return serve(handler, request, response, undefined)
    if ("stream" in request) narrow(request.stream)
    // Before anything is made of it that would stay in memory meanwhile.
    const overload = { failure: overloaded(), identity: undefined }
    noRoom
      .then(() => isGone(request) || serve(handler, request, response, overload))
      // It went while it waited.
      .catch(() => response.destroy())
  }

  function serve(handler: Handler, request: NodeRequest, response: NodeResponse, overload: Refusal | undefined): void {
    const { method } = handler
    const requestId = requestIdOf(firstOf(request.headers["x-request-id"]))
    request.headers["x-request-id"] = requestId
    clampTimeouts(request)
    const contextValues = createContextValues().set(clientNames, options.certificateNames(request))
    const asked = read(request, response, contextValues)
    if (asked === undefined) {
      response.writeHead(400, { "content-type": "text/plain; charset=utf-8" })
      response.end("the request names no host\n")
      request.resume()
      return
    }
    if (method.methodKind === "unary") limitArrival(request, dispatch.maxDeadlineMs)
    // What is answered before it is read, because it is too large, must not stay in the way of the connection's next
    // request: nobody destroys it, and the rest is thrown away.
    const body = request.iterator({ destroyOnReturn: false })
    // Asked of the stream itself: the response of HTTP/2 says that it is finished only when the request is too.
    const sent = "stream" in request ? request.stream : response
    // By a listener, which also takes over from a reader that lets go later.
    sent.once("finish", () => request.on("data", () => {}).resume())
    const certificateNames = options.certificateNames(request)
    const caller: Incoming = {
      door: "http",
      timeoutMs: undefined,
      header: (name) => firstOf(request.headers[name]),
      ...(certificateNames && { certificateNames }),
    }
    // Connect reads a unary request before it calls anybody. Whoever may not call is refused with an empty one in its
    // place, and nobody decodes what was sent.
    const refusal = method.methodKind === "unary" ? (overload ?? methods.get(method)?.refusalOf(caller)) : undefined
    Promise.resolve(refusal)
      .then((refusal) => {
        if (refusal === undefined) return handler({ ...asked, body })
        contextValues.set(refusalOfCall, refusal)
        return handler({ ...asked, ...emptyRequest(asked.header) })
      })
      .then((answer) =>
        universalResponseToNodeResponse(
          withoutForeignErrors(answer, method, requestId, (code) => dispatch.refused(method, "http", requestId, code)),
          response,
        ),
      )
      // The client is gone: there is nobody to tell.
      .catch(() => response.destroy())
  }
}

function isGone(request: NodeRequest): boolean {
  return "stream" in request ? request.stream.destroyed : request.socket.destroyed
}

function refuse(response: NodeResponse, status: number, headers: Record<string, string>): void {
  response.writeHead(status, { ...headers, "content-length": "0" })
  response.end()
}

// Throws where host and path make no URL: `Host: [`, or none at all in HTTP/1.0. The body is asked of the request itself:
// the generator that would be made of it here stays in memory (see foreign-errors.ts).
function read(request: NodeRequest, response: NodeResponse, contextValues: ContextValues) {
  try {
    return universalRequestFromNodeRequest(request, response, null, contextValues)
  } catch {
    return undefined
  }
}

// A time-out beyond what a timer of Node can hold would end at once.
function clampTimeouts(request: NodeRequest): void {
  const { headers } = request
  if (/^\d{9,}$/.test(firstOf(headers["connect-timeout-ms"]) ?? "")) headers["connect-timeout-ms"] = "99999999"
  clampGrpcTimeout(headers)
}

// The deadline of a call counts from when it is there whole; this is for those that never are.
function limitArrival(request: NodeRequest, maxMs: number): void {
  const timer = setTimeout(() => {
    if ("stream" in request) request.stream.close(http2.constants.NGHTTP2_CANCEL)
    else request.destroy()
  }, maxMs)
  const arrived = () => clearTimeout(timer)
  request.once("end", arrived)
  request.once("close", arrived)
}

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

function route(router: ConnectRouter, dispatch: Dispatch): void {
  for (const { desc, methods } of dispatch.services) {
    const implementation: Record<string, MethodImpl<DescMethod>> = {}
    for (const method of methods) implementation[method.desc.localName] = adapt(method)
    router.service(desc, implementation as Partial<ServiceImpl<typeof desc>>)
  }
}

function adapt(method: Method): MethodImpl<DescMethod> {
  if (method.desc.methodKind === "unary") {
    return (async (request: Message, context: HandlerContext) => {
      const running = begin(method, context)
      try {
        return await method.unary(request, running.call)
      } finally {
        running.end()
      }
    }) as MethodImpl<DescMethod>
  }
  return async function* (requests: Message | AsyncIterable<Message>, context: HandlerContext) {
    const running = begin(method, context)
    let tooLarge: unknown
    async function* readable(messages: AsyncIterable<Message>): AsyncIterable<Message> {
      try {
        yield* messages
      } catch (error) {
        if (error instanceof ConnectError && error.code === Code.ResourceExhausted) tooLarge = error
        throw asUnreadable(error, method.desc) ?? new Failure("CANCELLED", { cause: error })
      }
    }
    try {
      yield* method.stream(Symbol.asyncIterator in requests ? readable(requests) : single(requests), running.call)
    } catch (error) {
      throw tooLarge ?? error
    } finally {
      running.end()
    }
  } as MethodImpl<DescMethod>
}

async function* single(request: Message): AsyncIterable<Message> {
  yield request
}

function begin(method: Method, context: HandlerContext): Running {
  const names = context.values.get(clientNames)
  const incoming: Incoming = {
    door: "http",
    timeoutMs: context.timeoutMs(),
    header: (name) => context.requestHeader.get(name) ?? undefined,
    ...(names && { certificateNames: names }),
    refusal: context.values.get(refusalOfCall),
  }
  const running = method.begin(incoming)
  const onAbort = () => {
    // A timer may be a millisecond ahead of the clock.
    const { reason } = context.signal
    running.cancel(reason instanceof ConnectError && reason.code === Code.DeadlineExceeded)
  }
  context.signal.addEventListener("abort", onAbort, { once: true })
  return running
}
