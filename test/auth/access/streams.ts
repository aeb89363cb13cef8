import { EventService, SessionCacheService } from "@authwire/proto"
import { ErrorInfoSchema } from "@authwire/proto/rpc/error_details"
import type { TestKey } from "@authwire/test-support/processes/keys.js"
import { until } from "@authwire/test-support/until.js"
import { ConnectError, createClient, type Transport } from "@connectrpc/connect"
import { bearer } from "./asking.js"

/** An open stream of a service, until it ends or is closed. */
export interface OpenStream {
  /** The reason with which it has ended, or the error that was thrown; undefined while it is open. */
  readonly reason: string | undefined
  /** When it ended, in milliseconds since 1970. */
  readonly endedAt: number | undefined
  close(): Promise<void>
}

/** Watches events. Resolves when the stream is open. */
export function openWatch(transport: Transport, key: Pick<TestKey, "text">): Promise<OpenStream> {
  const { watch } = createClient(EventService, transport)
  return opened((signal) => watch({}, { headers: bearer(key), signal }))
}

/** Follows the changes of sessions. Resolves when there is a lease. Sends nothing after its first ping. */
export function openFollow(transport: Transport, key: Pick<TestKey, "text">): Promise<OpenStream> {
  const { follow } = createClient(SessionCacheService, transport)
  return opened((signal) => {
    async function* requests() {
      yield { maxStaleMs: 1_000, nonce: 1n }
      await new Promise((resolve) => signal.addEventListener("abort", resolve))
    }
    return follow(requests(), { headers: bearer(key), signal })
  })
}

async function opened(open: (signal: AbortSignal) => AsyncIterable<unknown>): Promise<OpenStream> {
  const abort = new AbortController()
  let answers = 0
  let reason: string | undefined
  let endedAt: number | undefined
  const ended = (async () => {
    for await (const _ of open(abort.signal)) answers++
    throw new Error("the stream ended by itself")
  })().catch((thrown: unknown) => {
    endedAt = Date.now()
    const error = ConnectError.from(thrown)
    reason = error.findDetails(ErrorInfoSchema)[0]?.reason ?? error.message
  })
  await until(() => answers > 0 || reason !== undefined)
  return {
    get reason() {
      return reason
    },
    get endedAt() {
      return endedAt
    },
    async close() {
      abort.abort()
      await ended
    },
  }
}
