import type * as schema from "@authwire/proto"
import type { Message } from "@bufbuild/protobuf"
import { type Failure, invalidField } from "../errors/failure.js"
import type { Changes } from "./changes.js"

/** The fields of the messages of these names in the schema. */
export type FollowRequest = Omit<schema.FollowRequest, keyof Message>
export type FollowResponse = Omit<schema.FollowResponse, keyof Message>

/** The callbacks of a stream. */
export interface HubClient {
  /** Called when there is something to take. */
  ready(): void
  /** Called when the stream has failed and has to be opened again. */
  fail(failure: Failure): void
}

/** The right of a client to use its cache until a time, and the sequence up to which the client knows everything. */
export interface Lease {
  ms: number
  until: number
  confirmed: bigint
  /** Whether its stream has ended. The client may not know the latest changes. */
  isOrphan: boolean
}

export const minStaleMs = 200

/** The largest number of pending keys of a client. With more, the client is told to clear its cache. */
const maxKeys = 4_096

/** Returns how long a lease may last by another machine's clock, which may differ by 2 % and 20 ms. */
export function longest(ms: number): number {
  return ms * 1.02 + 20
}

/** What one client has been sent, has confirmed and has requested. `delivered` is the sequence of the hub. */
export class ClientStream {
  readonly client: HubClient
  readonly lease: Lease
  /** The last unanswered request for a lease, and whether everything that was committed before it is in the stream. */
  request: { nonce: bigint; receivedAt: number; isCovered: boolean } | undefined
  /** The content of the next response. */
  #keys = new Set<string>()
  #reset = false
  #nonce = 0n
  /** The sequence that the client has to confirm to know all its changes, and whether it has. */
  #lastChange: bigint
  #isCurrent = false

  constructor(client: HubClient, delivered: bigint) {
    this.client = client
    this.#lastChange = delivered
    this.lease = { ms: 0, until: Number.NEGATIVE_INFINITY, confirmed: delivered, isOrphan: false }
  }

  /** Handles a request of the client. Returns whether its lease has changed. Throws INVALID_FIELD. */
  receive({ maxStaleMs, nonce, confirmed, done }: FollowRequest, delivered: bigint, at: number): boolean {
    const { lease } = this
    const before = { ...lease }
    if (lease.ms === 0 && maxStaleMs < minStaleMs)
      throw invalidField("max_stale_ms", `must be at least ${minStaleMs} in the first request`)
    if (lease.ms !== 0 && maxStaleMs !== 0 && maxStaleMs !== lease.ms)
      throw invalidField("max_stale_ms", "must be the value of the first request, or absent")
    if (confirmed > delivered) throw invalidField("confirmed", "must be a sequence that the service has sent")
    if (lease.ms === 0) lease.ms = maxStaleMs
    if (done) lease.until = Number.NEGATIVE_INFINITY
    if (confirmed >= this.#lastChange && confirmed > 0n) this.#isCurrent = true
    const known = this.#isCurrent ? delivered : confirmed
    if (known > lease.confirmed) lease.confirmed = known
    // Replaces a pending request, because the lease of that one would have begun earlier.
    if (nonce !== 0n && !done) this.request = { nonce, receivedAt: at, isCovered: false }
    return lease.ms !== before.ms || lease.until !== before.until || lease.confirmed !== before.confirmed
  }

  /** Adds what a read of the changes has found that began at `asOf`. */
  add({ keys, isOfAll }: Pick<Changes, "keys" | "isOfAll">, delivered: bigint, asOf: number): void {
    if (keys.length > 0 || isOfAll) {
      this.#lastChange = delivered
      this.#isCurrent = false
      for (const key of keys) this.#keys.add(key)
      if (isOfAll || this.#keys.size > maxKeys) {
        this.#reset = true
        this.#keys.clear()
      }
      this.client.ready()
    }
    // Without keys, a client that knows all its changes knows everything up to this sequence too.
    else if (this.#isCurrent) this.lease.confirmed = delivered
    if (this.request !== undefined && this.request.receivedAt < asOf) this.request.isCovered = true
  }

  /** Answers the request, which extends the lease. */
  grant(until: number, delivered: bigint, at: number): void {
    const { lease } = this
    // A client whose lease has expired uses nothing before it has followed this answer and everything before it.
    if (lease.until < at) {
      lease.confirmed = delivered
      this.#isCurrent = true
    }
    lease.until = Math.max(lease.until, until)
    this.#nonce = this.request?.nonce ?? 0n
    this.request = undefined
    this.client.ready()
  }

  /** Returns the pending response and removes it; undefined if there is none. */
  take(delivered: bigint): FollowResponse | undefined {
    if (this.#keys.size === 0 && !this.#reset && this.#nonce === 0n) return undefined
    const response = { keys: [...this.#keys], reset: this.#reset, sequence: delivered, nonce: this.#nonce }
    this.#keys.clear()
    this.#reset = false
    this.#nonce = 0n
    return response
  }
}
