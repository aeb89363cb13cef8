import http from "node:http"
import http2 from "node:http2"
import type { CallInput, ListenerName } from "../inputs.ts"
import { type Outcome, patienceMs } from "../outcome.ts"
import type { Ports } from "../server-process.ts"

/** The number of calls on one HTTP/2 connection before a new connection is opened. */
const callsPerSession = 400

export interface CallSender {
  send(input: CallInput): Promise<Outcome>
  close(): void
}

/** Sends HTTP/1.1 and HTTP/2 requests, with many on one connection. */
export function openCallSender(ports: Ports): CallSender {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 32 })
  const sessions = new Map<ListenerName, { session: http2.ClientHttp2Session; left: number }>()

  const sessionFor = (transport: ListenerName): http2.ClientHttp2Session => {
    const open = sessions.get(transport)
    if (open !== undefined && open.left-- > 0 && !open.session.closed && !open.session.destroyed) return open.session
    open?.session.close()
    // Node counts what it could not send of a request that was answered early against the memory of the connection, until it resets answers.
    const options = { maxSessionMemory: Number.MAX_SAFE_INTEGER }
    const session = http2.connect(`http://127.0.0.1:${ports[transport]}`, options)
    session.on("error", () => {})
    sessions.set(transport, { session, left: callsPerSession })
    return session
  }

  return {
    async send(input) {
      try {
        return await (input.version === 2
          ? sendHttp2(input, sessionFor(input.transport))
          : sendHttp1(input, ports, agent))
      } catch (error) {
        // The client has rejected the input itself.
        if (error instanceof Error && "code" in error && /^ERR_(HTTP|INVALID|UNESCAPED)/.test(String(error.code)))
          return { end: "unsent" }
        throw error
      }
    },
    close() {
      agent.destroy()
      for (const { session } of sessions.values()) session.destroy()
    },
  }
}

/** Health.Watch does not end by itself. Its first message counts as the answer. */
const isEndless = (path: string) => path.includes("Health/Watch")

function sendHttp2(input: CallInput, session: http2.ClientHttp2Session): Promise<Outcome> {
  const pseudo = [":method", input.method, ":path", input.path, ":scheme", "http", ":authority", "localhost"]
  const ends = input.ends ?? true
  const fields = [...pseudo, ...input.headers.flat()] as unknown as http2.OutgoingHttpHeaders
  const stream = session.request(fields, { endStream: ends && input.body.length === 0 })
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let status: number | undefined
    let [headers, trailers]: Record<string, string>[] = [{}, {}]
    const timer = setTimeout(() => {
      stream.close(http2.constants.NGHTTP2_CANCEL)
      resolve({ end: "hung" })
    }, patienceMs)
    stream.on("response", (fields) => {
      status = fields[":status"]
      headers = texts(fields)
    })
    stream.on("trailers", (fields) => {
      trailers = texts(fields)
    })
    stream.on("data", (chunk) => {
      chunks.push(chunk)
      if (isEndless(input.path)) stream.close(http2.constants.NGHTTP2_CANCEL)
    })
    stream.on("end", () => {
      // The server has answered before it read everything. The rest is not sent.
      if (!ends) stream.close(http2.constants.NGHTTP2_CANCEL)
    })
    stream.on("error", () => {})
    stream.on("close", () => {
      clearTimeout(timer)
      if (status === undefined) resolve({ end: "closed" })
      else
        resolve({
          end: "answered",
          status,
          headers: headers ?? {},
          trailers: trailers ?? {},
          body: Buffer.concat(chunks),
        })
    })
    if (!ends) stream.write(input.body)
    else if (input.body.length > 0) stream.end(input.body)
  })
}

function sendHttp1(input: CallInput, ports: Ports, agent: http.Agent): Promise<Outcome> {
  const headers = [["host", "localhost"], ...input.headers]
  const ends = input.ends ?? true
  if (input.method === "POST" && ends) headers.push(["content-length", String(input.body.length)])
  return new Promise((resolve, reject) => {
    const { method, path } = input
    const request = http.request({
      host: "127.0.0.1",
      port: ports[input.transport],
      method,
      path,
      headers: headers.flat(),
      agent,
    })
    const timer = setTimeout(() => {
      resolve({ end: "hung" })
      request.destroy()
    }, patienceMs)
    let ended: Outcome = { end: "closed" }
    request.on("response", (response) => {
      const chunks: Buffer[] = []
      const done = () => {
        const { statusCode: status = 0 } = response
        ended = {
          end: "answered",
          status,
          headers: texts(response.headers),
          trailers: texts(response.trailers),
          body: Buffer.concat(chunks),
        }
        if (!ends || isEndless(path)) request.destroy()
      }
      response.on("data", (chunk) => {
        chunks.push(chunk)
        if (isEndless(path)) done()
      })
      response.on("end", done)
      response.on("error", () => {})
    })
    request.on("error", (error) => {
      if ("code" in error && /^ERR_(HTTP|INVALID|UNESCAPED)/.test(String(error.code))) reject(error)
    })
    request.on("close", () => {
      clearTimeout(timer)
      resolve(ended)
    })
    if (ends) request.end(input.body)
    else request.write(input.body)
  })
}

function texts(fields: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : String(value)]),
  )
}
