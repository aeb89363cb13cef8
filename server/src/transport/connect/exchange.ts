import type { EventEmitter } from "node:events"
import type { universalRequestFromNodeRequest } from "@connectrpc/connect-node"
import { peerTimeout } from "../../util/peer-timeout.js"
import { closeWhenAnswered, cut, endWhenReset } from "../closing/close-stream.js"
import type { Connection } from "../limits/connection.js"
import { limits } from "../limits/limits.js"
import { firstOf } from "../listener/content-type.js"
import { endAtOnce, type NodeResponse } from "./answer.js"

/** Node's request object, for HTTP/1.1 or HTTP/2. */
export type NodeRequest = Parameters<typeof universalRequestFromNodeRequest>[0]

/** A request of HTTP/1.1 or HTTP/2, with its response. */
export class HttpExchange {
  readonly request: NodeRequest
  readonly response: NodeResponse
  readonly connection: Connection
  /** The HTTP/2 stream, or the response of HTTP/1.1. Emits "close" when the request is over or its client has disconnected. */
  readonly closing: EventEmitter

  constructor(request: NodeRequest, response: NodeResponse, connection: Connection) {
    this.request = request
    this.response = response
    this.connection = connection
    // The HTTP/2 response finishes only when the request does, too.
    this.closing = "stream" in request ? request.stream : response
    // A client that disconnects causes an error event of the request.
    request.on("error", () => {})
    if ("stream" in request) {
      closeWhenAnswered(request.stream)
      endWhenReset(request.stream)
    }
  }

  get path(): string {
    return this.request.url?.split("?", 1)[0] ?? ""
  }

  /** Returns the first value of a request header, by its lower-case name. */
  header(name: string): string | undefined {
    return firstOf(this.request.headers[name])
  }

  /** Whether host and path are a URL. They are not with `Host: [`, or without a host in HTTP/1.0. */
  get namesHost(): boolean {
    const { request } = this
    const host = "authority" in request ? request.authority : request.headers.host
    return host !== undefined && URL.canParse(request.url ?? "", `http://${host}`)
  }

  /** The size of the header in bytes, with 32 bytes of overhead for each field (RFC 9113, section 10.5.1). */
  get headerBytes(): number {
    return this.request.rawHeaders.reduce((bytes, text) => bytes + text.length + 16, this.request.url?.length ?? 0)
  }

  /** Aborts the request at once. */
  readonly cut = (): void => {
    // The socket is destroyed because an HTTP/1.1 request that was read to its end no longer controls it.
    if ("stream" in this.request) cut(this.request.stream)
    else this.request.socket.destroy()
  }

  /** Limits how long the client may take to receive the short answer to a rejected request. */
  limitTime(): void {
    this.closing.once("close", peerTimeout(limits.rejectionMs, this.cut).clear)
  }

  /** Answers a request that is not a valid call of a method. */
  reject(status: number, headers: Record<string, string> = {}, body = ""): void {
    this.limitTime()
    this.connection.countUnauthenticated()
    for (const [name, value] of Object.entries(headers)) this.response.setHeader(name, value)
    endAtOnce(this.response, status, body)
  }
}
