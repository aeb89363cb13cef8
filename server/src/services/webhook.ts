import { randomBytes } from "node:crypto"
import type { WebhookService } from "@authwire/proto"
import { requireScope } from "../auth/scopes.js"
import { Failure, invalidField } from "../errors/failure.js"
import type { Call, Implementation } from "../rpc/call.js"
import type { Store } from "../store/store.js"
import { brokenRule, type Egress } from "../webhooks/destination.js"
import { keyOfMessage } from "../webhooks/message-id.js"
import { toMilliseconds, toPage } from "./wire/values.js"
import { fromDelivery, fromWebhook, toKinds, toWebhookPatch } from "./wire/webhook.js"

/** How long the previous secret of a webhook signs too, unless the request says so, in milliseconds. */
const overlapMs = 86_400_000

/** The length of a secret in bytes, of the 24 to 64 of Standard Webhooks. */
const secretBytes = 32

export interface WebhookDeps extends Pick<Store, "webhooks" | "events" | "now"> {
  egress: Egress
}

/** Creates the service for the webhooks of the caller's tenant. */
export function webhookService({ webhooks, events, now, egress }: WebhookDeps): Implementation<typeof WebhookService> {
  const check = (given: { url?: string | undefined; includeUser?: boolean | undefined }, { identity }: Call) => {
    const rule = given.url === undefined ? undefined : brokenRule(given.url, egress)
    if (rule !== undefined) throw invalidField("url", rule)
    // Nobody can give more than they have.
    if (given.includeUser === true) requireScope(identity, "users:read")
  }
  const answer = (webhook: Parameters<typeof fromWebhook>[0] | null) =>
    webhook === null ? {} : { webhook: fromWebhook(webhook, now()) }

  return {
    async createWebhook({ name, url, kinds, includeUser }, caller, call) {
      if (!events.isEnabled) throw new Failure("EVENTS_NOT_KEPT")
      check({ url, includeUser }, call)
      const id = randomBytes(16).toString("hex")
      const secret = newSecret()
      const webhook = { id, name, url, kinds: toKinds(kinds), includeUser, created: new Date(now()) }
      return { ...answer(await webhooks.create(caller, webhook, secret)), secret }
    },
    async listWebhooks(request, caller) {
      const { items, nextToken } = await webhooks.page(caller, toPage(request))
      return { webhooks: items.map((webhook) => fromWebhook(webhook, now())), nextPageToken: nextToken ?? "" }
    },
    async updateWebhook(request, caller, call) {
      const patch = toWebhookPatch(request, new Date(now()))
      check(patch, call)
      return answer(await webhooks.update(caller, request.id, patch))
    },
    async deleteWebhook({ id }, caller) {
      return answer(await webhooks.delete(caller, id))
    },
    async rotateSecret({ id, overlap }, caller) {
      const secret = newSecret()
      const ms = overlap === undefined ? overlapMs : toMilliseconds(overlap, "overlap")
      const webhook = await webhooks.rotateSecret(caller, id, { secret, previousUntil: new Date(now() + ms) })
      return webhook === null ? {} : { ...answer(webhook), secret }
    },
    async sendTest({ id }, caller) {
      const delivery = await webhooks.addTest(caller, id)
      return delivery === null ? {} : { delivery: fromDelivery(delivery) }
    },
    async listDeliveries(request, caller) {
      const { webhookId, pending } = request
      const { items, nextToken } = await webhooks.deliveries(caller, { webhookId, pending }, toPage(request))
      return { deliveries: items.map(fromDelivery), nextPageToken: nextToken ?? "" }
    },
    async redeliver({ id }, caller) {
      const key = keyOfMessage(id)
      const delivery = key === undefined ? null : await webhooks.redeliver(caller, key)
      return delivery === null ? {} : { delivery: fromDelivery(delivery) }
    },
  }
}

function newSecret(): string {
  return `whsec_${randomBytes(secretBytes).toString("base64")}`
}
