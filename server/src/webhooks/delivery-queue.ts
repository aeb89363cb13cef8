import type { Store } from "../store/store.js"
import type { ActiveWebhook, WebhookAttempts, WebhookDelivery, WebhookDisableReason } from "../store/types.js"
import { oneAtATime } from "../util/one-at-a-time.js"
import { bodyOf } from "./body.js"
import { knownDeliveries } from "./known-deliveries.js"
import { messageId } from "./message-id.js"
import { maxAttempts, pauseMs } from "./pauses.js"
import type { Outcome, WebhookSender } from "./sender.js"

/** The most deliveries of a webhook that are sent at the same time, each of another user. */
const sendsAtOnce = 8

/** How far away the next delivery must be so that those that wait are forgotten until then, in milliseconds. */
const idleMs = 5_000

/** The pause after the database has failed, in milliseconds. */
const failedMs = 5_000

export interface QueueOptions {
  store: Pick<Store, "webhooks" | "users" | "now">
  sender: Pick<WebhookSender, "send">
  /** Called when the database fails. What was sent, but could not be recorded, is sent again. */
  onFailure: (error: unknown) => void
  /** Reads of many webhooks take turns. */
  inTurn: <T>(read: () => Promise<T>) => Promise<T>
  /** Whether this process may send now. */
  maySend: () => boolean
  /** Takes a slot to send; undefined if there is none now. The result gives it back. */
  slot: (tenant: string, isFirst: boolean) => (() => void) | undefined
  /** Called with each outcome, and whether the receiver has accepted the delivery. */
  onSent: (outcome: Outcome, isAccepted: boolean) => void
  /** Disables the webhook. */
  disable: (webhook: ActiveWebhook, reason: WebhookDisableReason) => Promise<void>
}

/**
 * Sends what waits for a webhook: of each user one delivery at a time, in their order, and those of several users at the same time. The
 * database has the truth; this process keeps the next thousand deliveries while there is something to send.
 */
export interface DeliveryQueue {
  webhook: ActiveWebhook
  /** Whether more deliveries may wait than are known at a time. */
  readonly isFull: boolean
  /** When the oldest event was written that waits, by the last read of the database; undefined: none waits. */
  readonly oldest: Date | undefined
  /** Reads the deliveries again: some were added. */
  added(): void
  /** Reads them again from the first one: the webhook, or a delivery, was changed by a call. */
  changed(): void
  /** Sends what is due. Never throws. */
  poll(): Promise<void>
  /** Sends nothing more, and resolves when nothing is being sent any more. After an abort of `signal` the rest is given up. */
  close(): Promise<void>
}

/** @param signal Gives up what is being sent. It is sent again, by another process. */
export function deliveryQueue(webhook: ActiveWebhook, options: QueueOptions, signal: AbortSignal): DeliveryQueue {
  const { store, sender, onFailure, inTurn, maySend, slot, onSent, disable } = options
  const { id, tenant } = webhook
  const caller = { tenant }
  const known = knownDeliveries((after) => inTurn(() => store.webhooks.pending(caller, id, after)))
  /** The users of the deliveries that are being sent. */
  const sending = new Map<string, Promise<void>>()
  let isStale = true
  /** Whether some have been sent since the last read. */
  let isSending = false
  let isClosed = false
  let oldest: Date | undefined
  /** When there is something to do, by the clock of the store. */
  let due = 0
  /** The receiver has asked for a pause, or the database has failed. */
  let pausedUntil = 0

  const read = oneAtATime(async () => {
    isStale = isSending = false
    await known.read(store.now())
    oldest = known.oldest
  })

  function pause(error: unknown): void {
    onFailure(error)
    isStale = true
    pausedUntil = due = store.now() + failedMs
  }

  /** Starts what is due and returns when the next delivery is, which may be now. */
  function start(now: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const [user, first] of known.firsts()) {
      if (sending.has(user)) continue
      const at = first.nextAttempt?.getTime() ?? 0
      if (at > now) {
        next = Math.min(next, at)
        continue
      }
      const give = sending.size < sendsAtOnce ? slot(tenant, sending.size === 0) : undefined
      if (give === undefined) return now
      isSending = true
      const sent = attempt(first)
        .catch(pause)
        .finally(() => {
          give()
          sending.delete(user)
          if (!isClosed) work()
        })
      sending.set(user, sent)
    }
    return next
  }

  /** Starts what can be started without a read of the database. */
  function work(): void {
    const now = store.now()
    if (now < pausedUntil) {
      due = pausedUntil
      return
    }
    if (isStale) {
      // The next poll reads what has changed.
      due = now
      return
    }
    due = start(now)
    if (sending.size > 0) return
    if (known.isFull && due > now) {
      // There may be more. If nothing of these could be sent, they are not worth haste.
      known.pass()
      isStale = true
      due = now
      if (isSending) void queue.poll()
      return
    }
    const firsts = [...known.firsts()].map(([, { created }]) => created.getTime())
    if (known.passedDue === Number.POSITIVE_INFINITY)
      oldest = firsts.length === 0 ? undefined : new Date(Math.min(...firsts))
    if (known.passedDue < due) {
      due = known.passedDue
      isStale = true
    }
    if (due > now + idleMs) {
      known.forget()
      isStale = true
    }
  }

  async function attempt(delivery: WebhookDelivery): Promise<void> {
    const secrets = await store.webhooks.secrets(caller, id)
    if (secrets.length === 0) {
      // The webhook has been deleted.
      isClosed = true
      return
    }
    const { includeUser, url } = queue.webhook
    const { userId } = delivery
    const user = includeUser && userId !== undefined ? await store.users.get(caller, userId) : undefined
    const at = new Date(store.now())
    const body = bodyOf(delivery, tenant, user)
    // The database may have taken long.
    if (!maySend()) return
    const outcome = await sender.send({ url, secrets, id: messageId(delivery), at, body }, signal)
    // It is unknown whether the receiver has it.
    if (signal.aborted) return
    const status = outcome.kind === "answered" ? outcome.status : undefined
    const isAccepted = status !== undefined && status >= 200 && status < 300
    onSent(outcome, isAccepted)
    const asked = outcome.kind === "answered" ? outcome.retryAfterMs : undefined
    const attempts = delivery.attempts + 1
    const result: WebhookAttempts = {
      pending: !isAccepted,
      attempts,
      lastAttempt: at,
      nextAttempt: isAccepted ? undefined : new Date(store.now() + pauseMs(attempts, asked)),
      status,
      failure: outcome.kind === "failed" ? outcome.reason : undefined,
      durationMs: outcome.durationMs,
    }
    await store.webhooks.record(caller, delivery, result)
    known.settle(delivery, isAccepted ? undefined : { ...delivery, ...result })
    if (status === 410) await disable(queue.webhook, "gone")
    else if (!isAccepted && attempts >= maxAttempts) await disable(queue.webhook, "failing")
    else if (!isAccepted && asked !== undefined) pausedUntil = store.now() + asked
  }

  const queue: DeliveryQueue = {
    webhook,
    get isFull() {
      // During a pause they are not read.
      return known.isPartial || store.now() < pausedUntil
    },
    get oldest() {
      return oldest
    },
    added() {
      isStale = true
      due = 0
    },
    changed() {
      known.restart()
      isStale = true
      due = 0
    },
    async poll() {
      const now = store.now()
      if (isClosed || due > now || now < pausedUntil) return
      try {
        if (isStale) await read()
        if (!isClosed) work()
      } catch (error) {
        pause(error)
      }
    },
    async close() {
      isClosed = true
      await Promise.all(sending.values())
    },
  }
  return queue
}
