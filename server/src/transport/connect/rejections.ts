import type { EventEmitter } from "node:events"
import type { universalRequestFromNodeRequest } from "@connectrpc/connect-node"
import { cut as cutStream } from "../closing/close-stream.js"
import { limits } from "../limits/limits.js"
import type { NodeResponse } from "./answer.js"

/** Node's request object, for HTTP/1.1 or HTTP/2. */
export type NodeRequest = Parameters<typeof universalRequestFromNodeRequest>[0]

// Limits how long a client may take to receive the short answer to a rejected request.
export function limitTime(closing: EventEmitter, cut: () => void): void {
  const timer = setTimeout(cut, limits.rejectionMs)
  closing.once("close", () => clearTimeout(timer))
}

// The HTTP/2 stream is used because the HTTP/2 response finishes only when the request does, too.
export function closingOf(request: NodeRequest, response: NodeResponse): EventEmitter {
  return "stream" in request ? request.stream : response
}

export function cutOf(request: NodeRequest): () => void {
  // Destroys the socket, because an HTTP/1.1 request that was read to its end no longer controls its socket.
  return () => ("stream" in request ? cutStream(request.stream) : request.socket.destroy())
}

export function rejectWithStatus(response: NodeResponse, status: number): void {
  response.writeHead(status)
  response.end()
}

export function rejectMethod(response: NodeResponse, allow: string): void {
  response.writeHead(405, { allow, "content-length": "0" })
  response.end()
}

// Uses the format of Connect's errors, for developers who try out the API.
export function rejectType(response: NodeResponse): void {
  response.writeHead(415, { "content-type": "application/json" })
  const message = "content-type must be application/json, application/proto or a content type of gRPC"
  response.end(JSON.stringify({ code: "invalid_argument", message }))
}

export function rejectHost(response: NodeResponse): void {
  response.writeHead(400, { "content-type": "text/plain; charset=utf-8" })
  response.end("the request names no host\n")
}
