import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http"
import http from "node:http"
import https from "node:https"
import { isIP } from "node:net"

/** How much of an answer is read, in bytes, with its headers and all that precedes them. */
const maxAnswerBytes = 64 * 1024

export interface Request {
  url: URL
  /** The addresses of the host. The connection goes to one of them, and its name is not resolved again. */
  addresses: readonly string[]
  headers: OutgoingHttpHeaders
  body: string
}

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
}

/** Agents that keep no connection, and do not read the variables that name a proxy, as the global ones may. */
export function createAgents() {
  // The addresses of a host are tried in turn. Node's default of 250 ms is too short for another continent.
  const options = { keepAlive: false, autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 2_500 }
  return { "http:": new http.Agent(options), "https:": new https.Agent(options) }
}

/**
 * Sends one POST request. Follows no redirect. The header of the answer decides, but its body is read to its end, and
 * dropped, because some receivers give up their work when a connection is closed early. Rejects if there is no answer.
 */
export function exchange(
  { url, addresses, headers, body }: Request,
  agents: ReturnType<typeof createAgents>,
  signal: AbortSignal,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const isSecure = url.protocol === "https:"
  const resolved = addresses.map((address) => ({ address, family: isIP(address) }))
  const request = (isSecure ? https : http).request(url, {
    method: "POST",
    headers,
    signal,
    agent: agents[isSecure ? "https:" : "http:"],
    lookup: (_host, _options, done) => done(null, resolved),
    maxHeaderSize: 16 * 1024,
    rejectUnauthorized: true,
  })
  let answer: Answer | undefined
  let failure: unknown
  // The connection belongs to this exchange alone.
  const stopIfTooLong = () => {
    if ((request.socket?.bytesRead ?? 0) > maxAnswerBytes) request.destroy()
  }
  request.on("information", stopIfTooLong)
  request.on("response", (response) => {
    answer = { status: response.statusCode ?? 0, headers: response.headers }
    response.on("data", stopIfTooLong)
    response.on("error", () => undefined)
  })
  request.on("error", (error) => {
    failure = error
  })
  request.on("close", () => (answer === undefined ? reject(failure) : resolve(answer)))
  request.end(body)
  return promise
}
