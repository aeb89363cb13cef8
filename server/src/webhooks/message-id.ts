import type { WebhookDeliveryKey } from "../store/types.js"

/** Returns the id of a delivery, which its receiver gets as the header `webhook-id`. */
export function messageId({ webhookId, number }: WebhookDeliveryKey): string {
  return `msg_${webhookId}_${number}`
}

/** Returns the delivery with an id; undefined for a text that is no such id. */
export function keyOfMessage(id: string): WebhookDeliveryKey | undefined {
  const [, webhookId, number] = /^msg_([0-9a-f]{32})_([1-9]\d{0,14})$/.exec(id) ?? []
  return webhookId === undefined ? undefined : { webhookId, number: Number(number) }
}
