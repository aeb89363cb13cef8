import { Webhook } from "standardwebhooks"
import { ownVersion } from "../util/version.js"
import { allowedAddresses, brokenRule, type Egress, knownAddresses } from "./destination.js"
import { createAgents, exchange } from "./exchange.js"
import { reasonOf } from "./failure-reason.js"
import { resolve } from "./resolution.js"
import { retryAfterMs } from "./retry-after.js"

/** One message for one receiver. */
export interface Delivery {
  url: string
  /** The secrets with their prefix `whsec_`, the newest first. The message is signed with each of them. */
  secrets: readonly string[]
  /** The id of the message, by which the receiver recognizes one that it has already. */
  id: string
  /** The time of this attempt. Receivers reject a message of another time than theirs, by five minutes. */
  at: Date
  /** JSON. */
  body: string
}

/** What became of a delivery. The durations are in milliseconds, from the call to the end of the answer. */
export type Outcome =
  | {
      kind: "answered"
      status: number
      durationMs: number
      /** The pause that the receiver asked for, at most 12 hours. */
      retryAfterMs?: number
    }
  | {
      kind: "failed"
      /** A few words for an operator. Nothing of the answer is in it. */
      reason: string
      durationMs: number
    }

export interface SenderOptions {
  /** The time for one delivery, from the question to DNS to the end of the answer, in milliseconds. Default: 15 s. */
  timeoutMs?: number
  /** The DNS servers, as in `dns.setServers`. Default: those of the system. */
  nameServers?: readonly string[]
}

/** A delivery that ends before there is an answer, for a reason that is shown. */
class NotSent extends Error {}

/**
 * Sends webhooks as Standard Webhooks specifies. The addresses of a host are resolved once for each delivery, all of them
 * must be allowed, and the connection goes to one of these. No connection is kept, so the check and the connection belong
 * to one delivery, and none fails because its receiver has closed an idle connection meanwhile.
 */
export class WebhookSender {
  readonly #egress: Egress
  readonly #isAllowed: (address: string) => boolean
  readonly #options: SenderOptions
  readonly #agents = createAgents()
  readonly #userAgent = `Authwire/${ownVersion()}`
  readonly #active = new Set<AbortController>()
  #isClosed = false

  constructor(egress: Egress, options: SenderOptions = {}) {
    this.#egress = egress
    this.#isAllowed = allowedAddresses(egress)
    this.#options = options
  }

  /** Sends a delivery once. Does not reject. An answer of any status, also a redirect, is an answer. */
  async send(delivery: Delivery, signal: AbortSignal): Promise<Outcome> {
    const { timeoutMs = 15_000 } = this.#options
    const begun = performance.now()
    const durationMs = () => Math.round(performance.now() - begun)
    const ending = new AbortController()
    const giveUp = () => ending.abort(new NotSent("given up"))
    // Not peerTimeout(): after a pause that outlasts the lease, nothing must be sent before the time is over.
    const timer = setTimeout(() => ending.abort(new NotSent(`timed out after ${timeoutMs / 1000} s`)), timeoutMs)
    signal.addEventListener("abort", giveUp, { once: true })
    if (signal.aborted || this.#isClosed) giveUp()
    this.#active.add(ending)
    try {
      const { status, headers } = await this.#exchange(delivery, ending.signal)
      const pause = retryAfterMs(headers, delivery.at)
      return { kind: "answered", status, durationMs: durationMs(), ...(pause !== undefined && { retryAfterMs: pause }) }
    } catch (error) {
      const cause = ending.signal.aborted ? ending.signal.reason : error
      const reason = cause instanceof NotSent ? cause.message : reasonOf(cause)
      return { kind: "failed", reason, durationMs: durationMs() }
    } finally {
      clearTimeout(timer)
      signal.removeEventListener("abort", giveUp)
      this.#active.delete(ending)
    }
  }

  /** Gives up the deliveries that are being sent, and all later ones. */
  close(): void {
    this.#isClosed = true
    for (const ending of this.#active) ending.abort(new NotSent("given up"))
  }

  async #exchange({ url: text, secrets, id, at, body }: Delivery, signal: AbortSignal) {
    // The options may have changed since the URL was stored.
    const rule = brokenRule(text, this.#egress)
    if (rule !== undefined) throw new NotSent(`the URL ${rule}`)
    const url = new URL(text)
    const addresses = knownAddresses(url.hostname) ?? (await resolve(url.hostname, signal, this.#options.nameServers))
    if (!addresses.every(this.#isAllowed)) throw new NotSent("the address is private")
    const headers = {
      "content-type": "application/json",
      "user-agent": this.#userAgent,
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(" "),
    }
    return exchange({ url, addresses, headers, body }, this.#agents, signal)
  }
}
