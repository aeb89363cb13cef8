import { sharedLimits, sharesOf } from "../util/shared-limits.js"

/**
 * Creates the slots for what is being sent. A tenant, with any number of slow receivers, gets a share of them, in which there is one for
 * each of its webhooks.
 *
 * @returns the function that takes one, or returns undefined if there is none now. Its result gives it back. `isFirst`: the webhook has no
 *   other one.
 */
export function deliverySlots(): (tenant: string, isFirst: boolean) => (() => void) | undefined {
  const shares = sharesOf(sharedLimits.webhookDeliveries)
  return (tenant, isFirst) => {
    const share = shares({ tenant, keyId: undefined })
    if (!isFirst && share.isTight) return undefined
    return share.take(1) ? () => share.give(1) : undefined
  }
}
