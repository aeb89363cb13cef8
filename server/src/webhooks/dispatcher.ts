import { randomUUID } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import type { Logger } from "pino"
import { StoreError } from "../errors/store-error.js"
import type { Store } from "../store/store.js"
import type { ActiveWebhook, AuditEntry, WebhookDisableReason } from "../store/types.js"
import { orAborted } from "../util/abort.js"
import { atMost } from "../util/at-most.js"
import { atMostEvery } from "../util/at-most-every.js"
import { elapsedTime } from "../util/elapsed-time.js"
import { peerSignal } from "../util/peer-timeout.js"
import { restMs } from "../util/rest.js"
import { type DeliveryQueue, deliveryQueue } from "./delivery-queue.js"
import { deliverySlots } from "./delivery-slots.js"
import { addDeliveries } from "./new-deliveries.js"
import type { Outcome, WebhookSender } from "./sender.js"

/** Observes the deliveries of this process. */
export interface WebhookObserver {
  /** Called with each attempt, and whether the receiver has accepted the delivery. */
  sent(outcome: Outcome, isAccepted: boolean): void
  /** Called when a webhook was disabled because of its receiver. */
  disabled(reason: WebhookDisableReason): void
  /** Called with how long the oldest event waits that no receiver has accepted yet, in milliseconds; 0: none waits. */
  oldest(ms: number): void
}

export interface DispatcherOptions {
  store: Pick<Store, "webhooks" | "users" | "events" | "leases" | "now">
  sender: Pick<WebhookSender, "send">
  log: Logger
  observer: WebhookObserver | undefined
  /** Records what the service does by itself. */
  audit: ((entry: AuditEntry, tenant: string) => void) | undefined
}

export interface Dispatcher {
  /**
   * Lets what is being sent end, for at most `graceMs` milliseconds, and leaves the rest to another process. Never throws, and may be
   * called repeatedly.
   */
  stop(graceMs: number): Promise<void>
}

const lease = "webhooks"
/** How long the lease lasts. After a kill, another process has it, and sends, within 30 seconds. */
const leaseMs = 25_000
/** The time after which the lease is renewed. */
const renewMs = 5_000
/**
 * The time since the renewal after which nothing more is sent. A delivery may take 15 s, so it ends before another process has the lease,
 * and no two processes send events of one user.
 */
const sendingMs = leaseMs - 16_000
/** The pause between two reads of the webhooks, and between two polls of their events. */
const listMs = 1_000
const pollMs = 250
/** The pause before a process that does not have the lease asks again. */
const idleMs = 2_000
/** For how many webhooks deliveries are made, or read, at the same time, so that calls have most of the connections. */
const webhooksAtOnce = 4
/** The shortest time between two lines of the log about failures. */
const failureMs = 10_000
/** The timeout for releasing the lease at the end. */
const releaseMs = 1_000

/**
 * Tells webhooks of events, while this process has the lease for it: one process of all that use the database. It reads the events of
 * tenants that have webhooks, writes a delivery for each webhook and event, and sends these.
 */
export function startDispatcher({ store, sender, log, observer, audit }: DispatcherOptions): Dispatcher {
  const holder = randomUUID()
  const elapsed = elapsedTime()
  const stopping = new AbortController()
  const { signal } = stopping
  const givingUp = new AbortController()
  const slots = deliverySlots()
  const inTurn = atMost(webhooksAtOnce)
  const queues = new Map<string, DeliveryQueue>()
  /** The tenants whose events become deliveries now. */
  const adding = new Map<string, Promise<void>>()
  /** When it is next read whether the deliveries of a webhook are too many, by `elapsed`. */
  const fullUntil = new WeakMap<DeliveryQueue, number>()
  const rarely = atMostEvery(failureMs, elapsed)
  const onFailure = (error: unknown) =>
    rarely("failure", () => log.warn({ err: error }, "webhooks wait for the database: retrying"))
  /** The time of the last renewal of the lease, by `elapsed`; undefined: this process does not have it. */
  let renewed: number | undefined
  let listed = Number.NEGATIVE_INFINITY
  let stopped: Promise<void> | undefined

  const hasLease = (ms: number) => renewed !== undefined && elapsed() - renewed < ms

  const closeAll = () => {
    const closed = [...queues.values()].map((queue) => queue.close())
    queues.clear()
    return Promise.all(closed)
  }

  async function disable({ tenant, id }: ActiveWebhook, reason: WebhookDisableReason): Promise<void> {
    const at = new Date(store.now())
    const queue = queues.get(id)
    // Several deliveries may fail for good at the same time.
    if (queue === undefined) return
    void queue.close()
    queues.delete(id)
    if ((await store.webhooks.update({ tenant }, id, { disabled: { at, reason } })) === null) return
    observer?.disabled(reason)
    log.warn({ tenant, webhook: id, reason }, "a webhook was disabled")
    const fields = { webhook_id: id, disable_reason: reason }
    audit?.({ created: at, method: "authwire.v1.WebhookService/UpdateWebhook", code: "OK", fields }, tenant)
  }

  const queueOf = (webhook: ActiveWebhook) =>
    deliveryQueue(
      webhook,
      {
        ...{ store, sender, onFailure, disable, inTurn },
        maySend: () => hasLease(sendingMs),
        slot: (tenant, isFirst) => (hasLease(sendingMs) ? slots(tenant, isFirst) : undefined),
        onSent: (outcome, isAccepted) => observer?.sent(outcome, isAccepted),
      },
      givingUp.signal,
    )

  /** Renews the lease, or acquires it if there are webhooks. Returns whether this process has it. */
  async function lead(): Promise<boolean> {
    if (hasLease(renewMs)) return true
    // Another process may have had it meanwhile.
    if (!hasLease(leaseMs)) {
      void closeAll()
      renewed = undefined
      if ((await store.webhooks.active({ signal })).length === 0) return false
      listed = Number.NEGATIVE_INFINITY
    }
    const begun = elapsed()
    renewed = (await store.leases.acquire({ signal }, { name: lease, holder, ms: leaseMs })) ? begun : undefined
    return renewed !== undefined
  }

  /** Reads which webhooks there are. */
  async function list(): Promise<void> {
    if (elapsed() - listed < listMs) return
    const all = new Map((await store.webhooks.active({ signal })).map((webhook) => [webhook.id, webhook]))
    listed = elapsed()
    for (const [id, queue] of queues) {
      const webhook = all.get(id)
      if (webhook === undefined) {
        void queue.close()
        queues.delete(id)
        continue
      }
      if (webhook.version !== queue.webhook.version) queue.changed()
      queue.webhook = webhook
    }
    for (const [id, webhook] of all) if (!queues.has(id)) queues.set(id, queueOf(webhook))
  }

  /** Makes deliveries of the events of a tenant. */
  async function add(tenant: string, own: readonly DeliveryQueue[]): Promise<void> {
    const { last } = await store.events.sequence({ tenant, signal })
    await Promise.all(
      own.map(async (queue) => {
        while (queue.webhook.position < last && hasLease(leaseMs) && !(await isFull(queue))) {
          const { position } = queue.webhook
          const { added, missed } = await inTurn(() => addDeliveries(store, queue.webhook, last))
          if (added > 0) queue.added()
          if (missed) await disable(queue.webhook, "behind")
          // Another process has made them.
          if (queue.webhook.position === position) return
        }
      }),
    )
  }

  async function isFull(queue: DeliveryQueue): Promise<boolean> {
    if (!queue.isFull) return false
    if (elapsed() < (fullUntil.get(queue) ?? 0)) return true
    const { tenant, id } = queue.webhook
    const begun = performance.now()
    const isFull = await store.webhooks.isFull({ tenant }, id)
    if (isFull) fullUntil.set(queue, elapsed() + restMs(begun, 100))
    return isFull
  }

  async function round(): Promise<void> {
    if (!(await lead())) return
    await list()
    for (const [tenant, own] of Map.groupBy(queues.values(), ({ webhook }) => webhook.tenant)) {
      // No tenant waits for another one.
      if (adding.has(tenant)) continue
      const added = add(tenant, own)
        .catch((error: unknown) => {
          const isGone = error instanceof StoreError && error.reason === "TENANT_NOT_FOUND"
          if (!isGone && !signal.aborted) onFailure(error)
        })
        .finally(() => adding.delete(tenant))
      adding.set(tenant, added)
    }
    for (const queue of queues.values()) void queue.poll()
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await round().catch((error: unknown) => {
        if (!signal.aborted) onFailure(error)
      })
      const since = [...queues.values()].flatMap(({ oldest }) => oldest?.getTime() ?? [])
      observer?.oldest(since.length === 0 ? 0 : Math.max(0, store.now() - Math.min(...since)))
      await delay(renewed === undefined ? idleMs : pollMs, undefined, { signal, ref: false }).catch(() => {})
    }
  }
  const ended = run()

  async function stop(graceMs: number): Promise<void> {
    stopping.abort()
    const all = Promise.all([ended, closeAll(), ...adding.values()])
    await orAborted(all, peerSignal(graceMs)).catch(() => {})
    givingUp.abort()
    if (renewed === undefined) return
    // If the release fails, the lease expires.
    const released = store.leases.release({}, { name: lease, holder })
    await orAborted(released, peerSignal(releaseMs)).catch(() => {})
  }

  return {
    stop(graceMs) {
      stopped ??= stop(graceMs)
      return stopped
    },
  }
}
