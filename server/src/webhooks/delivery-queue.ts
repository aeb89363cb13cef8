import type { Store } from "../store/store.js"
import type { ActiveWebhook, WebhookAttempts, WebhookDelivery, WebhookDisableReason } from "../store/types.js"
import { oneAtATime } from "../util/one-at-a-time.js"
import { bodyOf } from "./body.js"
import { messageId } from "./message-id.js"
import { maxAttempts, pauseMs } from "./pauses.js"
import type { Outcome, WebhookSender } from "./sender.js"

/** The most deliveries of a webhook that are sent at the same time, each of another user. */
const sendsAtOnce = 8

/** The number of deliveries that WebhookStore.pending returns at most. */
const pendingAtOnce = 1_000

/** How far away the next delivery must be so that those that wait are forgotten until then, in milliseconds. */
const idleMs = 5_000

/** The pause after the database has failed, in milliseconds. */
const failedMs = 5_000

export interface QueueOptions {
  store: Pick<Store, "webhooks" | "users" | "now">
  sender: Pick<WebhookSender, "send">
  /** Called when the database fails. What was sent, but could not be recorded, is sent again. */
  onFailure: (error: unknown) => void
  /** Takes a slot to send; undefined if there is none now. The result gives it back. */
  slot: (tenant: string) => (() => void) | undefined
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
  /** Whether as many deliveries wait as are known at a time. */
  readonly isFull: boolean
  /** When the oldest event was written that waits, by the last read of the database; undefined: none waits. */
  readonly oldest: Date | undefined
  /** Reads the deliveries again when there is something to do: some were added, or changed by a call. */
  changed(): void
  /** Sends what is due. Never throws. */
  poll(): Promise<void>
  /** Sends nothing more, and resolves when nothing is being sent any more. After an abort of `signal` the rest is given up. */
  close(): Promise<void>
}

/** @param signal Gives up what is being sent. It is sent again, by another process. */
export function deliveryQueue(webhook: ActiveWebhook, options: QueueOptions, signal: AbortSignal): DeliveryQueue {
  const { store, sender, onFailure, slot, onSent, disable } = options
  const { id, tenant } = webhook
  const caller = { tenant }
  /** Those that wait, by their users. Events without a user are in the order of their own. */
  const waiting = new Map<string, WebhookDelivery[]>()
  /** The users of the deliveries that are being sent. */
  const sending = new Map<string, Promise<void>>()
  /** What became of deliveries since the last read of the database began, which may not know it yet. Undefined: accepted. */
  const settled = new Map<number, WebhookDelivery | undefined>()
  let isStale = true
  let isFull = false
  let isClosed = false
  let oldest: Date | undefined
  /** When there is something to do, by the clock of the store. */
  let due = 0
  /** The receiver has asked for a pause, or the database has failed. */
  let pausedUntil = 0

  const read = oneAtATime(async () => {
    isStale = false
    settled.clear()
    const found = await store.webhooks.pending(caller, id)
    isFull = found.length === pendingAtOnce
    waiting.clear()
    for (const row of found) {
      const delivery = settled.has(row.number) ? settled.get(row.number) : row
      if (delivery === undefined) continue
      const user = delivery.userId ?? ""
      const own = waiting.get(user)
      if (own === undefined) waiting.set(user, [delivery])
      else own.push(delivery)
    }
    oldest = found[0]?.created
  })

  function pause(error: unknown): void {
    onFailure(error)
    isStale = true
    pausedUntil = due = store.now() + failedMs
  }

  /** Starts what is due and returns when the next delivery is, which may be now. */
  function start(now: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const [user, [first]] of waiting) {
      if (first === undefined || sending.has(user)) continue
      const at = first.nextAttempt?.getTime() ?? 0
      if (at > now) {
        next = Math.min(next, at)
        continue
      }
      const give = sending.size < sendsAtOnce ? slot(tenant) : undefined
      if (give === undefined) return now
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
    const firsts = [...waiting.values()].flatMap(([first]) => first?.created.getTime() ?? [])
    oldest = firsts.length === 0 ? undefined : new Date(Math.min(...firsts))
    if (isFull && waiting.size === 0) {
      // There may be more.
      isStale = true
      due = now
      void queue.poll()
    } else if (due > now + idleMs) {
      waiting.clear()
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
    settle(delivery, isAccepted ? undefined : { ...delivery, ...result })
    if (status === 410) await disable(queue.webhook, "gone")
    else if (!isAccepted && attempts >= maxAttempts) await disable(queue.webhook, "failing")
    else if (!isAccepted && asked !== undefined) pausedUntil = store.now() + asked
  }

  function settle({ number, userId = "" }: WebhookDelivery, later: WebhookDelivery | undefined): void {
    settled.set(number, later)
    const own = waiting.get(userId) ?? []
    const index = own.findIndex((one) => one.number === number)
    if (index < 0) return
    if (later === undefined) own.splice(index, 1)
    else own[index] = later
    if (own.length === 0) waiting.delete(userId)
  }

  const queue: DeliveryQueue = {
    webhook,
    get isFull() {
      return isFull
    },
    get oldest() {
      return oldest
    },
    changed() {
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
