import type { EventEmitter } from "node:events"
import type { ServerResponse } from "node:http"
import { Authorization, type CheckResponse } from "@authwire/proto/envoy"
import { type ConnectRouter, type ContextValues, createConnectRouter, createContextValues } from "@connectrpc/connect"
import { universalRequestFromNodeRequest } from "@connectrpc/connect-node"
import { Failure } from "../../errors/failure.js"
import { connectErrorOf } from "../../errors/status.js"
import { requestIdOf } from "../../rpc/call.js"
import type { Method, Router } from "../../rpc/router.js"
import { closeWhenAnswered, endWhenReset, markAdmitted } from "../closing/close-stream.js"
import { endRequest } from "../closing/end-request.js"
import { acquireSlot, type Connection } from "../limits/connection.js"
import type { OpenMethods } from "../limits/open-methods.js"
import { RequestBody } from "../limits/request-body.js"
import { usageOf } from "../limits/request-usage.js"
import { clampTimeouts } from "../listener/timeout.js"
import { type NodeResponse, writeAnswer } from "./answer.js"
import {
  type AuthorizeAnswer,
  authorizePath,
  failedAnswer,
  proxyHeader,
  readAuthorizeRequest,
  toAnswer,
} from "./authorize.js"
import { arriving } from "./body.js"
import { beginUnary, type HttpUnaryCall } from "./call.js"
import { withoutForeignErrors } from "./foreign-errors.js"
import {
  closingOf,
  cutOf,
  limitTime,
  type NodeRequest,
  rejectHost,
  rejectMethod,
  rejectType,
  rejectWithStatus,
} from "./rejections.js"
import { callOf, type HttpRequest, requestGate, requestKey, route } from "./routes.js"

type Handler = ConnectRouter["handlers"][number]

export interface ConnectHandlerOptions {
  router: Router
  maxMessageBytes: number
  openMethods: OpenMethods
  /** Answers requests for paths that are not methods. @returns Whether the path exists. */
  otherwise: (request: NodeRequest, response: NodeResponse) => boolean
  /** Returns the connection of a request. */
  connectionOf: (request: NodeRequest) => Connection
}

export interface ConnectHandler {
  serve(request: NodeRequest, response: NodeResponse): void
  /** Returns a handler that answers each request with this status. The answer has no body. */
  rejectWith(status: number): (request: NodeRequest, response: NodeResponse) => void
}

/** Serves the methods of the router over Connect, gRPC-Web and gRPC, to Node's servers of HTTP/1.1 and HTTP/2. */
export function connectHandler(options: ConnectHandlerOptions): ConnectHandler {
  const { router, openMethods } = options
  // A misspelt name in JSON is an error, because it may be that of a field or value that restricts the call.
  const jsonOptions = { ignoreUnknownFields: false }
  const connectRouter = createConnectRouter({ readMaxBytes: options.maxMessageBytes, requestGate, jsonOptions })
  route(connectRouter, router)
  const methods = new Map(router.services.flatMap((service) => service.methods.map((one) => [one.desc, one])))
  const check = methods.get(Authorization.method.check)
  const handlers = new Map(
    connectRouter.handlers.map((handler) => [
      handler.requestPath,
      { handler, method: methods.get(handler.method) as Method },
    ]),
  )

  /** Answers a request that is not a valid call of a method. */
  const reject = (request: NodeRequest, response: NodeResponse, how: () => void): void => {
    limitTime(closingOf(request, response), cutOf(request))
    options.connectionOf(request).countUnauthenticated()
    how()
  }

  /** Bounds how long a request stays open after its answer. Returns false if its connection is closed already. */
  const receive = (request: NodeRequest, response: NodeResponse): boolean => {
    // A client that disconnects causes an error event of the request. Other listeners may have been removed a moment
    // before.
    request.on("error", () => {})
    // Node has already parsed pipelined requests of an HTTP/1.1 connection and emits them even after the connection was
    // destroyed.
    if (!("stream" in request) && request.socket.destroyed) return false
    if ("stream" in request) {
      closeWhenAnswered(request.stream)
      endWhenReset(request.stream)
    } else endRequest(request, response as ServerResponse)
    return true
  }

  const answer = (request: NodeRequest, response: NodeResponse) => {
    const path = request.url?.split("?", 1)[0] ?? ""
    if (path === authorizePath && check !== undefined) {
      if (request.method === "GET" || request.method === "HEAD") return authorize(check, request, response)
      return reject(request, response, () => rejectMethod(response, "GET, HEAD"))
    }
    const found = handlers.get(path)
    if (found === undefined) {
      limitTime(closingOf(request, response), cutOf(request))
      const connection = options.connectionOf(request)
      if (!options.otherwise(request, response) || connection.takeHealthRequest() > 0) connection.countUnauthenticated()
      return
    }
    // Connect also offers GET for methods without side effects. That would put the request, such as an e-mail address
    // or a token, into the URL and so into the logs of proxies.
    if (request.method !== "POST") return reject(request, response, () => rejectMethod(response, "POST"))
    if (!found.handler.supportedContentType(request.headers["content-type"] ?? "")) {
      return reject(request, response, () => rejectType(response))
    }
    serve(found.handler, found.method, request, response)
  }

  return {
    serve: (request, response) => {
      if (receive(request, response)) answer(request, response)
    },
    rejectWith: (status) => (request, response) => {
      if (receive(request, response)) reject(request, response, () => rejectWithStatus(response, status))
    },
  }

  /** Serves a call of Authorization.Check by GET. */
  function authorize(method: Method, request: NodeRequest, response: NodeResponse): void {
    const connection = options.connectionOf(request)
    const closing = closingOf(request, response)
    const cut = cutOf(request)
    const { maxDeadlineMs } = router
    const { usage, rejection } = usageOf(closing, { method, connection, openMethods, maxDeadlineMs, cut })
    const requestId = requestIdOf(firstOf(request.headers["x-request-id"]))
    const begun = beginUnary(method, {
      transport: "http",
      timeoutMs: undefined,
      header: (name) => (name === "x-request-id" ? requestId : proxyHeader(request.headers, name)),
      prefersCertificate: true,
      rejection,
      connection,
      acquireSlot: (one) => acquireSlot(connection, one, closing),
    })
    closing.once("close", () => begun.call.cancel())
    begun.admitted.catch(() => limitTime(closing, cut))
    answerCheck(begun, request, closing)
      .catch(failedAnswer)
      .then(({ status, headers, body }) => {
        const bytes = Buffer.byteLength(body)
        if (!usage.answers(bytes + JSON.stringify(headers).length)) return cut()
        response.writeHead(status, { ...headers, "content-length": String(bytes) })
        response.end(request.method === "HEAD" ? "" : body)
      })
      // The client has disconnected and cannot receive an answer.
      .catch(() => response.destroy())
  }

  function serve(handler: Handler, method: Method, request: NodeRequest, response: NodeResponse): void {
    const requestId = requestIdOf(firstOf(request.headers["x-request-id"]))
    request.headers["x-request-id"] = requestId
    clampTimeouts(request.headers)
    const contextValues = createContextValues()
    const asked = read(request, response, contextValues)
    const connection = options.connectionOf(request)
    if (asked === undefined) {
      reject(request, response, () => rejectHost(response))
      return
    }
    const closing = closingOf(request, response)
    const cut = cutOf(request)
    const { usage, rejection } = usageOf(closing, {
      method,
      connection,
      openMethods,
      maxDeadlineMs: router.maxDeadlineMs,
      cut,
    })
    const state: HttpRequest = { method, connection, openMethods, rejection, usage, closing, cut }
    contextValues.set(requestKey, state)
    const source = "stream" in request ? request.stream : request
    const body = new RequestBody(source, usage)
    handler({ ...asked, body: arriving(body, () => callOf(state).call) })
      .then((answer) => {
        const own = withoutForeignErrors(answer, method.desc, requestId, (code, failure) => {
          if (state.call === undefined) {
            connection.countUnauthenticated()
            router.rejected(method.desc, "http", requestId, code)
          } else if (failure !== undefined) state.call.fail(failure)
        })
        return writeAnswer(own, response, usage, method.desc.methodKind === "unary")
      })
      // The client has disconnected or does not read, so it cannot receive an answer.
      .catch(() => response.destroy())
      .finally(() => body.discard())
  }
}

async function answerCheck(
  begun: HttpUnaryCall,
  { url, headers }: NodeRequest,
  closing: EventEmitter,
): Promise<AuthorizeAnswer> {
  await begun.admitted
  markAdmitted(closing)
  const asked = readAuthorizeRequest(url ?? "", headers)
  if (asked instanceof Failure) {
    begun.fail(asked)
    throw connectErrorOf(asked, begun.call.requestId)
  }
  return toAnswer((await begun.answer(asked.request)) as CheckResponse, asked)
}

// Returns undefined if host and path are not a valid URL, as with `Host: [` or without a host in HTTP/1.0. The body is
// read from the request itself, because a generator created here would stay in memory (see foreign-errors.ts).
function read(request: NodeRequest, response: NodeResponse, contextValues: ContextValues) {
  try {
    return universalRequestFromNodeRequest(request, response, null, contextValues)
  } catch {
    return undefined
  }
}

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
