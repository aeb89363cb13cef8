// The attacking process of bench/first-chunks.ts: it opens connections at a fixed rate, and writes a thousand
// requests in the first bytes of each.
//
//   startChild("first-chunk-side.ts", [])

import { setTimeout as delay } from "node:timers/promises"
import {
  http2Requests,
  type RawSocket,
  resetRequests,
  unreadSocket,
} from "@authwire/test-support/attack/raw-sockets.js"
import { getUserRequest, paths } from "@authwire/test-support/attack/requests.js"
import { answerParent } from "../child.ts"

const requests = 1_000

/** What the first bytes of a connection are. */
const chunks = {
  requests: http2Requests(paths.getUser, getUserRequest("nobody"), requests),
  "requests that are reset": resetRequests(paths.getUser, requests),
}

export type FirstChunk = keyof typeof chunks

export interface FirstChunkRequest {
  url: string
  chunk: FirstChunk
  perSecond: number
  ms: number
}

/** The number of connections, and of the bytes that each of them wrote. */
export interface FirstChunkSight {
  connections: number
  bytes: number
}

/** A connection stays open for so long if the service does not close it. */
const openMs = 5_000

answerParent(async ({ url, chunk, perSecond, ms }: FirstChunkRequest): Promise<FirstChunkSight> => {
  const bytes = chunks[chunk]
  const open = new Set<RawSocket>()
  const begun = performance.now()
  let connections = 0
  for (let elapsed = 0; elapsed < ms; elapsed = performance.now() - begun) {
    for (; connections < (elapsed / 1_000) * perSecond; connections++) {
      const one = unreadSocket(url, bytes)
      one.socket.resume()
      open.add(one)
      setTimeout(() => {
        one.close()
        open.delete(one)
      }, openMs)
    }
    await delay(1_000 / perSecond / 4)
  }
  for (const one of open) one.close()
  return { connections, bytes: bytes.length }
})
