import { sharedLimits, sharesOf } from "../util/shared-limits.js"

/**
 * Creates the slots for what is being sent. A tenant, with any number of slow receivers, gets a share of them.
 *
 * @returns the function that takes one, or returns undefined if there is none now. Its result gives it back.
 */
export function deliverySlots(): (tenant: string) => (() => void) | undefined {
  const shares = sharesOf(sharedLimits.webhookDeliveries)
  return (tenant) => {
    const share = shares({ tenant, keyId: undefined })
    return share.take(1) ? () => share.give(1) : undefined
  }
}
