import type { UniversalServerResponse } from "@connectrpc/connect/protocol"
import type { universalResponseToNodeResponse } from "@connectrpc/connect-node"
import type { Share } from "../budgets/share.js"

/** A response of Node, over HTTP/1.1 or HTTP/2. */
export type NodeResponse = Parameters<typeof universalResponseToNodeResponse>[1]

/**
 * Writes an answer of Connect. Not as Connect's own adapter does, which does not tell when the client has taken what was
 * written: of a stream, the next part is asked for then.
 *
 * @param isUnary whether all of the answer may wait for the client, if its connection does not hold too much already.
 */
export async function writeAnswer(
  answer: UniversalServerResponse,
  response: NodeResponse,
  share: Share,
  isUnary: boolean,
): Promise<void> {
  const body = answer.body?.[Symbol.asyncIterator]()
  try {
    // Header, trailer and status may change until the first part is there.
    let part = await body?.next()
    if (isUnary && part?.done === false && !share.answers(part.value.length)) return share.cut()
    setHeaders(response, answer.header)
    response.writeHead(answer.status)
    for (; body !== undefined && part?.done === false; part = await body.next()) {
      if (isUnary) write(response, part.value)
      else await writeTaken(response, part.value, share)
    }
    response.addTrailers(Object.fromEntries(answer.trailer ?? []))
    response.end()
  } finally {
    await body?.return?.()
  }
}

function setHeaders(response: NodeResponse, header: Headers | undefined): void {
  for (const [name, value] of header ?? []) response.setHeader(name, value)
}

function writeTaken(response: NodeResponse, bytes: Uint8Array, share: Share): Promise<void> {
  share.sent()
  return new Promise((resolve, reject) => {
    write(response, bytes, (error) => {
      share.taken()
      if (error) reject(error)
      else resolve()
    })
  })
}

function write(response: NodeResponse, bytes: Uint8Array, done: (error?: Error | null) => void = () => {}): void {
  response.write(bytes, done)
}
