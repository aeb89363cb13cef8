import {
  type EventKind,
  type UpdateWebhookRequest,
  type WebhookDeliverySchema,
  WebhookDisableReason,
  type WebhookSchema,
} from "@authwire/proto"
import { durationFromMs, timestampFromDate } from "@bufbuild/protobuf/wkt"
import type * as domain from "../../store/types.js"
import { messageId } from "../../webhooks/message-id.js"
import { fromEventKind, toEventKinds } from "./event.js"
import { unknownPath, type WholeMessage } from "./values.js"

/** The reasons of the schema. The compiler reports one that is missing. */
const disableReasons: Record<domain.WebhookDisableReason, WebhookDisableReason> = {
  requested: WebhookDisableReason.REQUESTED,
  gone: WebhookDisableReason.GONE,
  failing: WebhookDisableReason.FAILING,
  behind: WebhookDisableReason.BEHIND,
}

export const toKinds = (kinds: readonly EventKind[]): domain.EventKind[] => [...(toEventKinds(kinds) ?? [])]

/** @param now when it is disabled, if the request says so. */
export function toWebhookPatch(request: UpdateWebhookRequest, now: Date): domain.WebhookPatch {
  const patch: domain.WebhookPatch = {}
  for (const path of request.updateMask?.paths ?? []) {
    if (path === "name") patch.name = request.name
    else if (path === "url") patch.url = request.url
    else if (path === "kinds") patch.kinds = toKinds(request.kinds)
    else if (path === "include_user") patch.includeUser = request.includeUser
    else if (path === "disabled") patch.disabled = request.disabled ? { at: now, reason: "requested" } : null
    else throw unknownPath()
  }
  return patch
}

export function fromWebhook(webhook: domain.Webhook, now: number): WholeMessage<typeof WebhookSchema> {
  const { previousSecretUntil: until, disabled, disableReason } = webhook
  return {
    id: webhook.id,
    name: webhook.name,
    url: webhook.url,
    kinds: webhook.kinds.map(fromEventKind),
    includeUser: webhook.includeUser,
    createTime: timestampFromDate(webhook.created),
    disableTime: disabled && timestampFromDate(disabled),
    disableReason: disableReason === undefined ? WebhookDisableReason.UNSPECIFIED : disableReasons[disableReason],
    previousSecretExpireTime: until && until.getTime() > now ? timestampFromDate(until) : undefined,
  }
}

export function fromDelivery(delivery: domain.WebhookDelivery): WholeMessage<typeof WebhookDeliverySchema> {
  const { kind, userId, created, pending, attempts, lastAttempt, nextAttempt, status, failure, durationMs } = delivery
  return {
    id: messageId(delivery),
    kind: kind === "webhook.test" ? 0 : fromEventKind(kind),
    userId,
    createTime: timestampFromDate(created),
    pending,
    attempts,
    lastAttemptTime: lastAttempt && timestampFromDate(lastAttempt),
    nextAttemptTime: nextAttempt && timestampFromDate(nextAttempt),
    status,
    error: failure ?? "",
    duration: durationMs === undefined ? undefined : durationFromMs(durationMs),
  }
}
