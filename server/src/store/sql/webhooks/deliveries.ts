import type { WebhookStore } from "../../store.js"
import type { WebhookDelivery, WebhookDeliveryKey, WebhookMessage } from "../../types.js"
import type { Database } from "../database.js"
import type { Cell, Statements } from "../query/statement.js"
import { tenantNotFound } from "../schema/present-tenants.js"
import type { WebhookDeliveryRow } from "../schema/rows.js"
import { along } from "../walks/along.js"
import { listAlong } from "../walks/list.js"
import type { PageTokens } from "../walks/page-tokens.js"
import { type WalkOf, walks } from "../walks/walks.js"

/** How long deliveries are kept after the last attempt, and those that wait, also of a webhook that is disabled. In milliseconds. */
const acceptedKeepMs = 5 * 86_400_000
const pendingKeepMs = 30 * 86_400_000

/** The deliveries of a webhook that wait and are known to the process that sends them. */
export const pendingAtOnce = 1_000

/** The most deliveries of a webhook that wait. More events wait in the log of events. */
export const maxPending = 100_000

const attemptColumns = [
  ...(["pending", "attempts", "lastAttempt", "nextAttempt", "status", "failure", "durationMs", "expires"] as const),
]

type OfDeliveries = "addTest" | "deliveries" | "redeliver" | "add" | "pending" | "isFull" | "record"

/** Creates the part of the store that has the deliveries of webhooks. */
export function webhookDeliveryRows(
  database: Database,
  { tokens, clock }: { tokens: PageTokens; clock: () => number },
): Pick<WebhookStore, OfDeliveries> {
  const { webhooks, webhookDeliveries: deliveries } = database.tables
  const lockWebhook = webhooks.withColumnsForUpdate(["w.position", "w.version", "w.deliveries"])
  const advance = webhooks.statement(
    webhooks.updateOf("position", "version", "deliveries").where(webhooks.keyIs()),
    ...webhooks.key,
    ...(["position", "version", "deliveries"] as const),
  )
  const record = deliveries.statement(
    deliveries.updateOf(...attemptColumns).where(deliveries.keyIs()),
    ...deliveries.key,
    ...attemptColumns,
  )
  const listOf = (walk: WalkOf<"webhookDeliveries">) =>
    listAlong(database, walk, { alias: "d", select: deliveries.columns("d"), backwards: true })
  const lists = { all: listOf(walks.deliveriesOfWebhook), byState: listOf(walks.deliveriesByState) }
  const ofPending = { alias: "d", select: deliveries.columns("d"), limit: pendingAtOnce }
  const pending = along(database, walks.deliveriesByState, ofPending)
  const pendingAfter = along(database, walks.deliveriesByState, { ...ofPending, after: ["number"] })
  const lastOfFull = along(database, walks.deliveriesByState, {
    ...{ alias: "d", select: "d.number", limit: 1, offset: maxPending - 1 },
  })
  const deliveryOf = (cells: Cell[]): WebhookDelivery => {
    const { tenant: _, expires: __, ...delivery } = deliveries.row(cells)
    return delivery
  }

  interface Place {
    position: number
    version: number
    deliveries: number
  }
  /** Locks the webhook, so that the numbers of its deliveries have no gap. Returns null if there is none. */
  const placeOf = async (sql: Statements, tenant: string, id: string): Promise<Place | null> => {
    const [cells] = await sql.read(lockWebhook, { tenant, id })
    if (cells === undefined) return null
    const [position, version, count] = cells.slice(webhooks.width) as [Cell, Cell, Cell]
    return {
      position: webhooks.value("position", position) as number,
      version: webhooks.value("version", version) as number,
      deliveries: webhooks.value("deliveries", count) as number,
    }
  }
  const expiryOf = (pending: boolean) => new Date(clock() + (pending ? pendingKeepMs : acceptedKeepMs))
  const rowOf = (tenant: string, key: WebhookDeliveryKey, message: WebhookMessage): WebhookDeliveryRow => {
    const now = new Date(clock())
    return { tenant, ...key, ...message, pending: true, attempts: 0, nextAttempt: now, expires: expiryOf(true) }
  }

  return {
    addTest: ({ tenant, ...caller }, webhookId) => {
      const names = [webhooks.nameOf({ tenant, id: webhookId })]
      return database.write({ tenant, ...caller }, names, async (sql) => {
        const place = await placeOf(sql, tenant, webhookId)
        if (place === null) return null
        const number = place.deliveries + 1
        const row = rowOf(tenant, { webhookId, number }, { kind: "webhook.test", created: new Date(clock()) })
        await sql.write(deliveries.insert, row).catch(rejectAbsentTenant)
        const advanced = { position: place.position, version: place.version + 1, deliveries: number }
        await sql.write(advance, { tenant, id: webhookId, ...advanced })
        const { tenant: _, expires: __, ...delivery } = row
        return delivery
      })
    },

    async deliveries(caller, { webhookId, pending }, page) {
      const { tenant } = caller
      const reads = database.reads(caller)
      // Those of a webhook that was deleted are still there.
      if ((await reads.read(webhooks.byKey, { tenant, id: webhookId })).length === 0) return { items: [] }
      const list = pending === undefined ? lists.all : lists.byState
      return list(page, {
        tokens,
        name: ["webhook deliveries", tenant, webhookId, String(pending)],
        first: { number: Number.MAX_SAFE_INTEGER },
        values: { of: { tenant, webhookId, ...(pending !== undefined && { pending }) } },
        itemOf: deliveryOf,
        reads,
        signal: caller.signal,
      })
    },

    redeliver: (caller, key) => {
      const { tenant } = caller
      const { webhookId } = key
      const names = [webhooks.nameOf({ tenant, id: webhookId }), deliveries.nameOf({ tenant, ...key })]
      return database.write(caller, names, async (sql) => {
        const place = await placeOf(sql, tenant, webhookId)
        const [cells] = await sql.read(deliveries.byKey, { tenant, ...key })
        if (place === null || cells === undefined) return null
        const again = { ...deliveryOf(cells), pending: true, attempts: 0, nextAttempt: new Date(clock()) }
        await sql.write(record, { tenant, ...again, expires: expiryOf(true) })
        await sql.write(advance, { tenant, id: webhookId, ...place, version: place.version + 1 })
        return again
      })
    },

    add: (caller, webhookId, { after, position, messages }) => {
      const { tenant } = caller
      return database.write(caller, [webhooks.nameOf({ tenant, id: webhookId })], async (sql) => {
        const place = await placeOf(sql, tenant, webhookId)
        if (place?.position !== after) return false
        const changes = messages.map((message, index) =>
          deliveries.insertion(rowOf(tenant, { webhookId, number: place.deliveries + index + 1 }, message)),
        )
        await sql.change(changes).catch(rejectAbsentTenant)
        const advanced = { position, version: place.version, deliveries: place.deliveries + messages.length }
        await sql.write(advance, { tenant, id: webhookId, ...advanced })
        return true
      })
    },

    async pending(caller, webhookId, after = 0) {
      const { tenant } = caller
      const of = { tenant, webhookId, pending: true }
      const rows = await database
        .reads(caller)
        .read(after > 0 ? pendingAfter : pending, { of, after: { number: after } })
      return deliveries.readable(rows, deliveryOf)
    },

    async isFull(caller, webhookId) {
      const { tenant } = caller
      const rows = await database.reads(caller).read(lastOfFull, { of: { tenant, webhookId, pending: true } })
      return rows.length > 0
    },

    async record(caller, key, attempts) {
      const row = {
        tenant: caller.tenant,
        ...key,
        ...attempts,
        expires: expiryOf(attempts.pending),
      } as WebhookDeliveryRow
      await database.write(caller, [deliveries.nameOf(row)], (sql) => sql.write(record, row))
    },
  }
}

function rejectAbsentTenant(error: unknown): never {
  throw tenantNotFound(error)
}
