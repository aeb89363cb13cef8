import { setTimeout as delay } from "node:timers/promises"
import {
  CreateWebhookResponseSchema,
  EventKind,
  RotateSecretResponseSchema,
  type Webhook,
  type WebhookDelivery,
  WebhookDeliverySchema,
  WebhookDisableReason,
  WebhookSchema,
} from "@authwire/proto"
import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import { ConfigurationError } from "../../errors/configuration-error.js"
import { StartError } from "../../errors/start-error.js"
import { fromEventKind } from "../../services/wire/event.js"
import { toKinds } from "../../services/wire/webhook.js"
import { printable } from "../../util/printable.js"
import type { Work } from "../commands/output.js"
import { jsonOf, maxPageSize, printList, timeOf } from "./listing.js"
import { type Service, withService } from "./service.js"

/** The longest time for the outcome of a test, in milliseconds: another replica may have to take over, and an attempt takes 15 s. */
const testMs = 60_000
/** The pause between two reads of it. */
const pollMs = 250

const noSuchWebhook = "there is no webhook with this id: authwire webhooks list shows the ids"
const secretRemark = "The secret is shown only once. The receiver verifies deliveries with it.\n"

const webhookColumns = {
  id: ({ id }: Webhook) => id,
  name: ({ name }: Webhook) => name,
  url: ({ url }: Webhook) => url,
  kinds: ({ kinds }: Webhook) => kinds.map(kindText).join(",") || "all",
  user: ({ includeUser }: Webhook) => (includeUser ? "included" : ""),
  created: ({ createTime }: Webhook) => timeOf(createTime),
  state: stateText,
}

const deliveryColumns = {
  id: ({ id }: WebhookDelivery) => id,
  kind: ({ kind }: WebhookDelivery) => kindText(kind),
  user: ({ userId }: WebhookDelivery) => userId ?? "",
  created: ({ createTime }: WebhookDelivery) => timeOf(createTime),
  attempts: ({ attempts }: WebhookDelivery) => String(attempts),
  outcome: (delivery: WebhookDelivery) => outcomeText(delivery),
  next: ({ nextAttemptTime }: WebhookDelivery) => timeOf(nextAttemptTime),
}

/** `authwire webhooks create`. Throws ConfigurationError and StartError. */
export const createWebhook: Work<"webhooks create"> = async (configuration, { print, say }) => {
  const { webhookName: name, to: url, webhookKinds = [], includeUser, json } = configuration
  if (name === undefined) throw new ConfigurationError("--name: is required")
  if (url === undefined) throw new ConfigurationError("--to: is required: where deliveries go")
  const request = { name, url, kinds: webhookKinds.map(fromEventKind), includeUser: includeUser === "on" }
  const created = await withService(configuration, ({ webhooks }) => webhooks.createWebhook(request))
  const { webhook, secret } = created
  await print(json ? `${jsonOf(CreateWebhookResponseSchema, created)}\n` : `created ${webhook?.id}\n${secret}\n`)
  say(secretRemark)
}

/** `authwire webhooks list`. Throws StartError. */
export const listWebhooks: Work<"webhooks list"> = async (configuration, output) => {
  await withService(configuration, ({ webhooks }) =>
    printList(configuration, output, {
      schema: WebhookSchema,
      columns: webhookColumns,
      async read(page) {
        const { webhooks: items, nextPageToken } = await webhooks.listWebhooks(page)
        return { items, nextPageToken }
      },
    }),
  )
}

/** `authwire webhooks update ID`: changes what is given. Throws ConfigurationError and StartError. */
export const updateWebhook: Work<"webhooks update"> = async (configuration, { print }, id) => {
  const { webhookName: name, to: url, webhookKinds, includeUser, state, json } = configuration
  const given = { name, url, kinds: webhookKinds, include_user: includeUser, disabled: state }
  const paths = Object.entries(given).flatMap(([path, value]) => (value === undefined ? [] : [path]))
  if (paths.length === 0)
    throw new ConfigurationError("webhooks update: give at least one of --name, --to, --kinds, --include-user, --state")
  const kinds = webhookKinds?.map(fromEventKind) ?? []
  const fields = { kinds, includeUser: includeUser === "on", disabled: state === "disabled" }
  const { webhook } = await withService(configuration, ({ webhooks }) =>
    webhooks.updateWebhook({ id, name: name ?? "", url: url ?? "", ...fields, updateMask: { paths } }),
  )
  await print(json ? `${jsonOf(WebhookSchema, found(webhook))}\n` : `changed ${found(webhook).id}\n`)
}

/** `authwire webhooks delete ID`. Throws StartError. */
export const deleteWebhook: Work<"webhooks delete"> = async (configuration, { print, say }, id) => {
  const { dryRun, json } = configuration
  const webhook = await withService(configuration, async (service) =>
    dryRun ? webhookOf(service, id) : found((await service.webhooks.deleteWebhook({ id })).webhook),
  )
  const text = `${dryRun ? "found" : "deleted"} ${webhook.id} (${webhook.name})\n`
  await print(json ? `${jsonOf(WebhookSchema, webhook)}\n` : text)
  if (dryRun) say("dry run: nothing was deleted\n")
}

/** `authwire webhooks rotate-secret ID`. Throws StartError. */
export const rotateSecret: Work<"webhooks rotate-secret"> = async (configuration, { print, say }, id) => {
  const overlap = durationFromMs(configuration.overlap)
  const rotated = await withService(configuration, ({ webhooks }) => webhooks.rotateSecret({ id, overlap }))
  const { previousSecretExpireTime: until } = found(rotated.webhook)
  await print(configuration.json ? `${jsonOf(RotateSecretResponseSchema, rotated)}\n` : `${rotated.secret}\n`)
  say(secretRemark)
  if (until !== undefined) say(`Until ${timeOf(until)} the previous secret is valid too.\n`)
}

/** `authwire webhooks test ID`: sends a test, and waits for its outcome. The exit code is 1 unless it was accepted. Throws StartError. */
export const sendTest: Work<"webhooks test"> = async (configuration, { print, say }, id) => {
  const delivery = await withService(configuration, async (service) => {
    const webhook = await webhookOf(service, id)
    if (webhook.disableTime !== undefined)
      throw new StartError(`the webhook is ${stateText(webhook)}: authwire webhooks update ID --state enabled`)
    const { delivery: test } = await service.webhooks.sendTest({ id })
    if (test === undefined) throw new StartError(noSuchWebhook)
    const end = performance.now() + testMs
    for (;;) {
      const { deliveries } = await service.webhooks.listDeliveries({ webhookId: id, pageSize: maxPageSize })
      const sent = deliveries.find((one) => one.id === test.id)
      if (sent !== undefined && sent.attempts > 0) return sent
      if (performance.now() > end) return sent ?? test
      await delay(pollMs)
    }
  })
  await print(configuration.json ? `${jsonOf(WebhookDeliverySchema, delivery)}\n` : `${outcomeText(delivery)}\n`)
  if (delivery.attempts === 0)
    say(`not sent within ${testMs / 1_000} seconds: other deliveries are before it, or no replica sends; it waits\n`)
  return isAccepted(delivery) ? 0 : 1
}

/** `authwire webhooks deliveries ID`. Throws StartError. */
export const listDeliveries: Work<"webhooks deliveries"> = async (configuration, output, webhookId) => {
  const pending = configuration.pending ? true : undefined
  await withService(configuration, async (service) => {
    await webhookOf(service, webhookId)
    await printList(configuration, output, {
      schema: WebhookDeliverySchema,
      columns: deliveryColumns,
      async read(page) {
        const { deliveries: items, nextPageToken } = await service.webhooks.listDeliveries({
          ...{ ...page, webhookId, pending },
        })
        return { items, nextPageToken }
      },
    })
  })
}

/** `authwire webhooks redeliver DELIVERY`. Throws StartError. */
export const redeliver: Work<"webhooks redeliver"> = async (configuration, { print }, id) => {
  const { delivery } = await withService(configuration, ({ webhooks }) => webhooks.redeliver({ id }))
  if (delivery === undefined)
    throw new StartError("there is no delivery with this id: authwire webhooks deliveries WEBHOOK shows the ids")
  await print(configuration.json ? `${jsonOf(WebhookDeliverySchema, delivery)}\n` : `sending ${delivery.id} again\n`)
}

/** Returns a webhook of the tenant, of which there are few. */
async function webhookOf({ webhooks }: Service, id: string): Promise<Webhook> {
  return found((await webhooks.listWebhooks({ pageSize: maxPageSize })).webhooks.find((one) => one.id === id))
}

function found(webhook: Webhook | undefined): Webhook {
  if (webhook === undefined) throw new StartError(noSuchWebhook)
  return webhook
}

/** A kind that this version does not know is shown by its number. */
function kindText(kind: EventKind): string {
  return kind === EventKind.UNSPECIFIED ? "webhook.test" : (toKinds([kind])[0] ?? String(kind))
}

function stateText({ disableTime, disableReason }: Webhook): string {
  if (disableTime === undefined) return "enabled"
  const why = (WebhookDisableReason[disableReason] ?? String(disableReason)).toLowerCase()
  return `disabled since ${timeOf(disableTime)} (${why})`
}

const isAccepted = ({ status = 0 }: WebhookDelivery) => status >= 200 && status < 300

function outcomeText(delivery: WebhookDelivery): string {
  const { attempts, status, error, duration } = delivery
  if (attempts === 0) return "waiting"
  const time = duration === undefined ? "" : ` in ${Math.round(durationMs(duration))} ms`
  if (status === undefined) return `failed: ${printable(error)}${time}`
  return `${isAccepted(delivery) ? "accepted" : "refused"}: status ${status}${time}`
}
