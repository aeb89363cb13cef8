import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import { peerTimeout } from "../../util/peer-timeout.js"
import { limits } from "../limits/limits.js"

/**
 * Node's parser of a connection. Node has no public way to end its work on what it has read, up to 64 KiB at once: thousands of requests,
 * or of chunks of a body, each of which costs as much time as a large one.
 */
interface Parser {
  /** Called for each request that was parsed. It returns 2 if what follows is no HTTP, as after an upgrade. */
  onIncoming(...request: unknown[]): number
  /** The request whose body is parsed. */
  readonly incoming: IncomingMessage | null
  readonly constructor: { readonly kOnBody: number }
  /** What is called for each chunk of a body, at `kOnBody`. Without it bodies are skipped at almost no cost. */
  [callback: number]: OnBody | undefined
}

type OnBody = (this: Parser, chunk: Buffer) => void

/** Node's own function, which is the same for all parsers. */
let nodesOnBody: OnBody | undefined

function parserOf(socket: Socket): Parser | undefined {
  const { parser } = socket as { parser?: Parser }
  return typeof parser?.onIncoming === "function" && parser.constructor.kOnBody !== undefined ? parser : undefined
}

/** Replaces what is called for each chunk of a body. Node uses the parser again for another connection after this one. */
function replaceOnBody(socket: Socket, parser: Parser, onBody: OnBody | undefined): void {
  const { kOnBody } = parser.constructor
  nodesOnBody ??= parser[kOnBody]
  parser[kOnBody] = onBody
  socket.once("close", () => {
    parser[kOnBody] = nodesOnBody
  })
}

/** The most chunks that `limits.lingerHttp1Bytes` has space for. */
const lingerChunks = limits.lingerHttp1Bytes / limits.chunkBytes
const rejected = new WeakSet<IncomingMessage>()

/** Records that of a request, whose call was rejected, only a little is still read. */
export function readLittle(request: IncomingMessage): void {
  rejected.add(request)
}

/** The connections of which no more is read. */
const stopped = new WeakSet<Socket>()

/**
 * Bounds the chunks of a request that have arrived and that nobody has read: beyond it the connection is closed, or not read any more if
 * the call was rejected. Nothing that has arrived is parsed from then on.
 */
export function boundParsing(socket: Socket): void {
  const parser = parserOf(socket)
  if (parser === undefined) return
  const { onIncoming } = parser
  parser.onIncoming = (...request) => (socket.destroyed || stopped.has(socket) ? 2 : onIncoming(...request))
  let unread = 0
  replaceOnBody(socket, parser, (chunk) => {
    if (!parser.incoming?.readableLength) unread = 0
    unread++
    nodesOnBody?.call(parser, chunk)
    const isRejected = parser.incoming !== null && rejected.has(parser.incoming)
    if (unread < (isRejected ? lingerChunks : limits.unreadChunks)) return
    stopReading(socket)
    if (!isRejected) socket.destroy()
  })
}

/** Reads nothing more of a connection and closes it soon. What is sent to the client until then still reaches it. */
export function stopReading(socket: Socket): void {
  if (stopped.has(socket)) return
  stopped.add(socket)
  socket.once("close", peerTimeout(limits.lingerHttp1Ms, () => socket.destroy()).clear)
  // Node resumes the socket when a request has little in its buffer.
  socket.on("resume", () => socket.pause()).pause()
  const parser = parserOf(socket)
  if (parser !== undefined) replaceOnBody(socket, parser, undefined)
}
