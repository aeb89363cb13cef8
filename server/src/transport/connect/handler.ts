import { SignalService } from "@authwire/proto"
import { Authorization, type CheckResponse } from "@authwire/proto/envoy"
import type { Message } from "@bufbuild/protobuf"
import { Code, type ConnectRouter, createConnectRouter, createContextValues } from "@connectrpc/connect"
import { universalRequestFromNodeRequest } from "@connectrpc/connect-node"
import { Failure, toFailure } from "../../errors/failure.js"
import { connectErrorOf } from "../../errors/status.js"
import { type Call, type CallOptions, requestIdOf } from "../../rpc/call.js"
import type { Codec } from "../../rpc/codec.js"
import type { Method } from "../../rpc/router.js"
import type { SignalVerifier } from "../../signals/verifier.js"
import { waitsUntil } from "../../util/abort.js"
import { markAdmitted } from "../closing/close-stream.js"
import { inTurn } from "../closing/in-turn.js"
import type { Connection } from "../limits/connection.js"
import { limits } from "../limits/limits.js"
import { RequestBody } from "../limits/request-body.js"
import { type RequestUsage, usageOf } from "../limits/request-usage.js"
import { acceptedEncoding, isOfConnect, mediaType, typesOverHttp } from "../listener/content-type.js"
import type { ListenerOptions } from "../listener/listener.js"
import { foreignName, namesLoopback } from "../listener/loopback-names.js"
import { clampTimeouts, connectTimeout, grpcTimeout } from "../listener/timeout.js"
import { type NodeResponse, withMessages, writeAnswer } from "./answer.js"
import {
  type AuthorizeAnswer,
  authorizePath,
  failedAnswer,
  proxyHeader,
  readAuthorizeRequest,
  toAnswer,
} from "./authorize.js"
import { beginStream, beginUnary, type HttpUnaryCall, type StreamCoding } from "./call.js"
import { HttpExchange, type NodeRequest } from "./exchange.js"
import { withoutForeignErrors } from "./foreign-errors.js"
import { rejectionOf, writeRejection } from "./rejection.js"
import { callOptions, follow, type HttpRequest, requestKey, route } from "./routes.js"
import { signalDelivery, signalTarget } from "./signals.js"
import { type Whole, WholeMessage, WholeMessages } from "./whole-messages.js"

const json = { "content-type": "application/json" }
const isUnaryConnect = (type: string) => type === "application/json" || type === "application/proto"
const emptyJson = Buffer.from("{}")
const emptyProtobuf = Buffer.of()
const plainText = { "content-type": "text/plain; charset=utf-8" }

type Handler = ConnectRouter["handlers"][number]

export interface ConnectHandlerOptions
  extends Pick<ListenerOptions, "router" | "maxMessageBytes" | "openMethods" | "loopbackNames" | "log"> {
  /** Answers requests for paths that are not methods. @returns Whether the path exists. */
  otherwise: (request: NodeRequest, response: NodeResponse) => boolean
  /** Returns the connection of a request. */
  connectionOf: (request: NodeRequest) => Connection
  /** Called if a header is larger than the limit of its path, in bytes. */
  onLargeHeader: (maxBytes: number) => void
  /** Verifies signals. Undefined: none are taken without a key. */
  verifier?: SignalVerifier | undefined
}

export interface ConnectHandler {
  serve(request: NodeRequest, response: NodeResponse): void
  /** Returns a handler that answers each request with this status. The answer has no body. */
  rejectWith(status: number): (request: NodeRequest, response: NodeResponse) => void
}

/** Serves the methods of the router over Connect, gRPC-Web and gRPC, to Node's servers of HTTP/1.1 and HTTP/2. */
export function connectHandler(options: ConnectHandlerOptions): ConnectHandler {
  const { router, openMethods, maxMessageBytes, log } = options
  const connectRouter = createConnectRouter({
    readMaxBytes: maxMessageBytes,
    jsonOptions: { registry: router.registry },
  })
  route(connectRouter, router)
  const methods = new Map(router.services.flatMap((service) => service.methods.map((one) => [one.desc, one])))
  const check = methods.get(Authorization.method.check)
  const receiveSignal = methods.get(SignalService.method.receiveSignal)
  const signals =
    options.verifier && receiveSignal && signalDelivery({ verifier: options.verifier, method: receiveSignal })
  const handlers = new Map(
    connectRouter.handlers.map((handler) => [
      handler.requestPath,
      { handler, method: methods.get(handler.method) as Method },
    ]),
  )

  /** Returns undefined if the client cannot be answered, because it has reset the stream or the connection is closed. */
  const receive = (request: NodeRequest, response: NodeResponse): HttpExchange | undefined => {
    // Node has already parsed pipelined requests of an HTTP/1.1 connection and emits them even after the connection was
    // destroyed.
    if (!isOver(request)) return new HttpExchange(request, response, options.connectionOf(request))
    if ("stream" in request) request.stream.destroy()
    return undefined
  }

  const answer = (exchange: HttpExchange) => {
    const { request, response, connection, path } = exchange
    if (options.loopbackNames && !namesLoopback(request.headers)) return exchange.reject(403, plainText, foreignName)
    if (path === authorizePath && check !== undefined) {
      if (request.method === "GET" || request.method === "HEAD") return authorize(check, exchange)
      return exchange.reject(405, { allow: "GET, HEAD", "content-length": "0" })
    }
    if (exchange.headerBytes > limits.maxHeaderBytes) {
      options.onLargeHeader(limits.maxHeaderBytes)
      // HTTP/2 has no such header, and Node would warn of it.
      const closes = request.httpVersionMajor === 1 && { connection: "close" }
      return exchange.reject(431, { ...closes, "content-length": "0" })
    }
    const target = signals && signalTarget(path)
    if (target !== undefined) return signals?.deliver(target, exchange)
    const found = handlers.get(path)
    if (found === undefined) {
      exchange.limitTime()
      if (!options.otherwise(request, response) || connection.takeHealthRequest() > 0) connection.countUnauthenticated()
      return
    }
    // Connect also offers GET for methods without side effects. That would put the request, such as an e-mail address
    // or a token, into the URL and so into the logs of proxies.
    if (request.method !== "POST") return exchange.reject(405, { allow: "POST", "content-length": "0" })
    const types = typesOverHttp(found.method.desc)
    const type = mediaType(exchange.header("content-type"))
    if (type !== undefined && types.includes(type)) {
      // A client that waits for an answer while it sends would wait for ever.
      if (found.method.desc.methodKind === "bidi_streaming" && request.httpVersionMajor === 1)
        return exchange.reject(505, { connection: "close", "content-length": "0" })
      if (!exchange.namesHost) return exchange.reject(400, plainText, "the request names no host\n")
      request.headers["content-type"] = type
      return serve(found.handler, found.method, exchange)
    }
    const { name, methodKind } = found.method.desc
    const kind = methodKind === "unary" ? "unary" : "streaming"
    const message = `${name} is a ${kind} method: its content-type must be one of ${types.join(", ")}`
    // A client of Connect shows its own format. The code is the one that Connect has for 415.
    if (isOfConnect(type)) exchange.reject(415, json, JSON.stringify({ code: "unknown", message }))
    else exchange.reject(415, plainText, `${message}\n`)
  }

  return {
    serve: (request, response) => {
      const exchange = receive(request, response)
      if (exchange === undefined) return
      // Few requests of HTTP/1.1 arrive at once, and when its client sends no more, Node ends a connection on which none is being answered.
      if (!("stream" in request)) return answer(exchange)
      inTurn(exchange.connection, request.stream, () => answer(exchange))
    },
    rejectWith: (status) => (request, response) => receive(request, response)?.reject(status),
  }

  /** Serves a call of Authorization.Check by GET. */
  function authorize(method: Method, exchange: HttpExchange): void {
    const { request, response } = exchange
    const requestId = requestIdOf(exchange.header("x-request-id"))
    const { usage, rejection } = usageOf(exchange, { method, openMethods, maxDeadlineMs: router.maxDeadlineMs })
    usage.receivedHeader(exchange.headerBytes)
    const call = method.begin({
      ...callOptions(exchange, method, rejection),
      timeoutMs: undefined,
      header: (name) => (name === "x-request-id" ? requestId : proxyHeader(request.headers, name)),
      prefersCertificate: true,
    })
    const begun = beginUnary(method.unary, call)
    follow(begun, exchange)
    answerCheck(begun, exchange)
      .catch((error: unknown) => failedAnswer(toFailure(error), requestId))
      .then(({ status, headers, body }) => {
        const bytes = Buffer.byteLength(body)
        if (!usage.answers(bytes + JSON.stringify(headers).length)) return exchange.cut()
        response.writeHead(status, { ...headers, "content-length": String(bytes) })
        response.end(request.method === "HEAD" ? "" : body)
      })
      // The client has disconnected and cannot receive an answer.
      .catch(() => response.destroy())
  }

  function serve(handler: Handler, method: Method, exchange: HttpExchange): void {
    const { request, response, closing } = exchange
    const requestId = requestIdOf(exchange.header("x-request-id"))
    request.headers["x-request-id"] = requestId
    clampTimeouts(request.headers)
    const type = request.headers["content-type"] ?? ""
    const isJson = type.endsWith("json")
    const { usage, rejection } = usageOf(exchange, { method, openMethods, maxDeadlineMs: router.maxDeadlineMs })
    const ofHeader: CallOptions = {
      ...callOptions(exchange, method, rejection),
      timeoutMs: (isOfConnect(type) ? connectTimeout : grpcTimeout)(request.headers),
      header: (name) => exchange.header(name),
    }
    const onRequest = async (isFirst: boolean) => {
      await router.messageTurn(begun.call.owner)
      usage.read()
      const tooMany = !method.isOpen || isFirst ? undefined : openMethods.request(method.desc, exchange.connection)
      if (tooMany !== undefined) throw tooMany
    }
    const begun =
      method.desc.methodKind === "unary"
        ? beginUnary(isJson ? method.unaryJson : method.unaryBytes, method.begin(ofHeader))
        : beginStream(method, ofHeader, isJson ? ofJson(method.codec) : method.codec, onRequest)
    const messages = new (isUnaryConnect(type) ? WholeMessage : WholeMessages)(
      maxMessageBytes,
      isJson ? emptyJson : emptyProtobuf,
    )
    follow(begun, exchange)
    begun.admitted
      .then(
        () => {
          if (!method.isOpen) markAdmitted(closing)
          return answerByConnect(handler, method, exchange, { begun, messages, encoded: [] }, usage)
        },
        (failure: Failure) => writeRejection(response, usage, rejectionOf(type, failure, requestId)),
      )
      // The client has disconnected or does not read, so it cannot receive an answer.
      .catch(() => response.destroy())
  }

  async function answerByConnect(
    handler: Handler,
    method: Method,
    exchange: HttpExchange,
    asked: HttpRequest,
    usage: RequestUsage,
  ): Promise<void> {
    const { begun, messages } = asked
    const { request, response } = exchange
    const contextValues = createContextValues().set(requestKey, asked)
    // The body is read from the request itself, because a generator created here would stay in memory (see foreign-errors.ts).
    const universal = universalRequestFromNodeRequest(request, response, null, contextValues)
    // Connect would allocate the length that this header announces. Node checks it.
    if (Number(universal.header.get("content-length")) <= maxMessageBytes) universal.header.delete("content-length")
    const type = request.headers["content-type"] ?? ""
    const body = new RequestBody("stream" in request ? request.stream : request, usage)
    let isTooLarge = false
    try {
      const ofConnect = await handler({ ...universal, body: arriving(body, begun.call, messages) })
      const { requestId } = begun.call
      const foreign = { requestId, outcome: () => begun.outcome }
      const rewritten = withoutForeignErrors(ofConnect, foreign, (failure) => {
        if (failure.reason === "INTERNAL")
          log.error({ err: failure.cause, request_id: requestId }, "an answer cannot be encoded")
        begun.fail(failure)
        isTooLarge = failure.code === Code.ResourceExhausted
      })
      const own = withMessages(rewritten, asked.encoded, !isUnaryConnect(type))
      own.header?.set(...acceptedEncoding(type))
      const isUnary = method.desc.methodKind === "unary"
      // A stream of requests may have no end.
      await writeAnswer(own, response, usage, isUnary, () => (isUnary && isTooLarge ? body.readAway() : undefined))
    } finally {
      body.discard()
    }
  }
}

const ofJson = ({ decodeJson, encodeJsonInTurns }: Codec): StreamCoding => ({
  decode: decodeJson,
  encode: encodeJsonInTurns,
})

/** Returns whether the client has reset the stream of a request, or the connection is closed. */
function isOver(request: NodeRequest): boolean {
  return "stream" in request ? request.stream.closed : request.socket.destroyed
}

async function answerCheck(
  begun: HttpUnaryCall<Message, Message>,
  { request, closing }: HttpExchange,
): Promise<AuthorizeAnswer> {
  await begun.admitted
  markAdmitted(closing)
  const asked = readAuthorizeRequest(request.url ?? "", request.headers)
  if (asked instanceof Failure) {
    begun.fail(asked)
    throw asked
  }
  return toAnswer((await begun.answer(asked.request)) as CheckResponse, asked)
}

// Not a nested function: see foreign-errors.ts.

/** Yields what Connect gets of a request as it arrives. Throws the call's error if the call ends first. */
async function* arriving(body: RequestBody, { signal, requestId }: Call, messages: Whole): AsyncIterable<Uint8Array> {
  const waits = waitsUntil(signal)
  try {
    for (;;) {
      const chunk = await waits.for(body.next())
      yield* chunk === undefined ? messages.ended() : messages.received(chunk)
      if (chunk === undefined) return
    }
  } catch (error) {
    throw error instanceof Failure ? connectErrorOf(error, requestId) : error
  } finally {
    waits.end()
  }
}
