import { StoreError } from "../../../errors/store-error.js"
import type { Caller, EventStore, WebhookStore } from "../../store.js"
import type { ActiveWebhook, Webhook, WebhookPatch } from "../../types.js"
import type { Cipher } from "../cipher.js"
import type { Database } from "../database.js"
import { eventSequences } from "../events/event-sequences.js"
import type { Cell, Statements } from "../query/statement.js"
import { tenantNotFound } from "../schema/present-tenants.js"
import type { WebhookRow } from "../schema/rows.js"
import { tenantTurns } from "../turns.js"
import { along } from "../walks/along.js"
import { listAlong } from "../walks/list.js"
import type { PageTokens } from "../walks/page-tokens.js"
import { walks } from "../walks/walks.js"
import { webhookSecrets } from "./secrets.js"

/** The most webhooks of a tenant: each gets every event of it. */
export const maxWebhooksOfTenant = 20

/** The number of webhooks that one statement reads. */
const webhooksAtOnce = 500

/** The columns that a call may change. */
const changeable = ["name", "url", "kinds", "includeUser", "disabled", "disableReason"] as const

type OfWebhooks = "create" | "page" | "update" | "delete" | "rotateSecret" | "active" | "secrets"

interface WebhookOptions {
  cipher: Cipher
  tokens: PageTokens
  clock: () => number
  history: EventStore["history"]
}

/** Creates the part of the store that has the webhooks themselves. */
export function webhookRows(
  database: Database,
  { cipher, tokens, clock, history }: WebhookOptions,
): Pick<WebhookStore, OfWebhooks> {
  const { webhooks, webhookDeliveries: deliveries } = database.tables
  const { sequence } = eventSequences(database)
  const sealed = webhookSecrets(cipher)
  const list = listAlong(database, walks.webhooksOfTenant, { alias: "w", select: webhooks.columns("w") })
  const idsOfTenant = along(database, walks.webhooksOfTenant, {
    ...{ alias: "w", select: "w.id", limit: maxWebhooksOfTenant },
  })
  const turns = tenantTurns(database)
  const active = along(database, walks.webhooksByTenant, {
    alias: "w",
    select: [webhooks.columns("w"), "w.tenant", "w.position", "w.version"].join(", "),
    where: "w.disabled IS NULL",
    ...{ after: ["tenant", "id"], limit: webhooksAtOnce },
  })
  const secretsOf = webhooks.statement(
    webhooks.selectFrom("w").select("w.secrets, w.previousSecretUntil").where(webhooks.keyIs("w")),
    ...webhooks.key,
  )
  const lock = webhooks.withColumnsForUpdate(["w.secrets", "w.version", "w.position"])
  const update = webhooks.statement(
    webhooks.updateOf(...changeable, "position", "version").where(webhooks.keyIs()),
    ...webhooks.key,
    ...changeable,
    ...(["position", "version"] as const),
  )
  const updateSecrets = webhooks.statement(
    webhooks.updateOf("secrets", "previousSecretUntil", "version").where(webhooks.keyIs()),
    ...webhooks.key,
    ...(["secrets", "previousSecretUntil", "version"] as const),
  )
  /** Sends at once, and for another three days, what has failed. Only deliveries that were attempted count. */
  const beginAgain = deliveries.statement(
    deliveries
      .updateOf("attempts", "nextAttempt")
      .where("tenant = :tenant AND webhookId = :webhookId AND pending = :pending AND attempts > 0"),
    ...(["tenant", "webhookId", "pending", "attempts", "nextAttempt"] as const),
  )

  interface Locked {
    row: Webhook
    secrets: string
    version: number
    position: number
  }
  const locked = async (sql: Statements, key: Pick<WebhookRow, "tenant" | "id">): Promise<Locked | null> => {
    const [cells] = await sql.read(lock, key)
    if (cells === undefined) return null
    const [secrets, version, position] = cells.slice(webhooks.width) as [Cell, Cell, Cell]
    return {
      row: webhooks.row(cells),
      secrets: webhooks.value("secrets", secrets) as string,
      version: webhooks.value("version", version) as number,
      position: webhooks.value("position", position) as number,
    }
  }
  const write = <T>(
    { tenant, ...caller }: Caller,
    id: string,
    work: (sql: Statements, found: Locked) => Promise<T>,
  ) => {
    const key = { tenant, id }
    return database.write({ ...caller, tenant } as Caller, [webhooks.nameOf(key)], async (sql) => {
      const found = await locked(sql, key)
      return found === null ? null : work(sql, found)
    })
  }

  return {
    async create(caller, webhook, secret) {
      const { tenant } = caller
      const { last } = await sequence(caller)
      const row: WebhookRow = {
        ...webhook,
        tenant,
        secrets: sealed.seal({ tenant, id: webhook.id }, [secret]),
        position: last,
        version: 0,
        deliveries: 0,
      }
      await turns.prepare(caller)
      return database.write(caller, [webhooks.nameOf(row), ...turns.rowsOf(tenant)], async (sql) => {
        // No other process creates one meanwhile.
        await turns.take(sql, tenant, webhook.id)
        if ((await sql.read(idsOfTenant, { of: { tenant } })).length >= maxWebhooksOfTenant) throw tooMany()
        await sql.write(webhooks.insert, row).catch((error: unknown) => {
          throw tenantNotFound(error)
        })
        return webhook
      })
    },

    page(caller, page) {
      const { tenant } = caller
      return list(page, {
        ...{ tokens, name: ["webhooks", tenant], first: { id: "" }, values: { of: { tenant } } },
        itemOf: (cells) => webhooks.row(cells),
        reads: database.reads(caller),
        signal: caller.signal,
      })
    },

    async update(caller, id, patch) {
      const { tenant } = caller
      // Events that were deleted while it was disabled are not missed.
      const { before } = patch.disabled === null ? await history(caller) : { before: 0 }
      return write(caller, id, async (sql, { row, version, position }) => {
        const changed = changedBy(row, patch)
        const place = { position: Math.max(position, before), version: version + 1 }
        await sql.write(update, { ...changed, ...place, tenant } as WebhookRow)
        if (row.disabled !== undefined && changed.disabled === undefined) {
          const begun = { attempts: 0, nextAttempt: new Date(clock()) }
          await sql.write(beginAgain, { tenant, webhookId: id, pending: true, ...begun })
        }
        return changed
      })
    },

    delete: (caller, id) =>
      write(caller, id, async (sql, { row }) => {
        await sql.write(webhooks.delete, { tenant: caller.tenant, id })
        return row
      }),

    rotateSecret: (caller, id, { secret, previousUntil }) =>
      write(caller, id, async (sql, { row, secrets, version }) => {
        const key = { tenant: caller.tenant, id }
        const [previous] = sealed.open(key, secrets)
        const changed = { ...row, previousSecretUntil: previousUntil }
        const all = [secret, ...(previous === undefined ? [] : [previous])]
        const values = { ...key, ...changed, secrets: sealed.seal(key, all), version: version + 1 }
        await sql.write(updateSecrets, values as WebhookRow)
        return changed
      }),

    async active(waiter) {
      const all: ActiveWebhook[] = []
      for (let after = { tenant: "", id: "" }; ; ) {
        const rows = await database.reads(waiter).read(active, { after })
        all.push(
          ...webhooks.readable(rows, (cells) => {
            const [tenant, position, version] = cells.slice(webhooks.width) as [Cell, Cell, Cell]
            return {
              ...webhooks.row(cells),
              tenant: webhooks.value("tenant", tenant) as string,
              position: webhooks.value("position", position) as number,
              version: webhooks.value("version", version) as number,
            }
          }),
        )
        const last = rows.at(-1)
        if (rows.length < webhooksAtOnce || last === undefined) return all
        after = {
          tenant: webhooks.value("tenant", last[webhooks.width] as Cell) as string,
          id: webhooks.valueIn("id", last),
        }
      }
    },

    async secrets(caller, id) {
      const key = { tenant: caller.tenant, id }
      const [cells] = await database.reads(caller).read(secretsOf, key)
      if (cells === undefined) return []
      const until = webhooks.value("previousSecretUntil", cells[1] as Cell) as Date | undefined
      const all = sealed.open(key, webhooks.value("secrets", cells[0] as Cell) as string)
      return until !== undefined && until.getTime() > clock() ? all : all.slice(0, 1)
    },
  }
}

/** Returns the webhook with the changes. One that is disabled already keeps its time and reason. */
function changedBy(row: Webhook, { disabled, ...patch }: WebhookPatch): Webhook {
  const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined))
  const changed: Webhook = { ...row, ...given }
  if (disabled === null) return { ...changed, disabled: undefined, disableReason: undefined }
  if (disabled === undefined || row.disabled !== undefined) return changed
  return { ...changed, disabled: disabled.at, disableReason: disabled.reason }
}

function tooMany(): StoreError {
  const rule = `must be that of one of at most ${maxWebhooksOfTenant} webhooks of the tenant: delete some`
  return new StoreError("INVALID_FIELD", rule, { field: "name" })
}
