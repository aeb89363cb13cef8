import type { Store } from "../store/store.js"
import type { ActiveWebhook } from "../store/types.js"

/** The number of events that are read at once for a webhook. */
const eventsAtOnce = 500

/**
 * Makes deliveries of the events that a webhook has not got yet, of one batch. The events are in the order of their sequences, and the
 * position of the webhook moves together with its deliveries, so each event becomes one delivery, whichever process does it.
 *
 * @param last the sequence of the tenant's last event.
 * @returns `added`: the number of deliveries; `missed`: whether events have been deleted before they became deliveries.
 */
export async function addDeliveries(
  { events, webhooks }: Pick<Store, "events" | "webhooks">,
  webhook: ActiveWebhook,
  last: number,
): Promise<{ added: number; missed: boolean }> {
  const { tenant, id, kinds, position } = webhook
  const caller = { tenant }
  const found = await events.read(caller, { after: position, limit: eventsAtOnce })
  const first = found[0]?.sequence ?? last + 1
  // What follows a position is mostly its successor. Where it is not, the history says whether events before it were deleted, or their
  // sequences were given with a gap.
  if (first > position + 1 && (await events.history(caller)).before > position) return { added: 0, missed: true }
  const messages = found
    .filter(({ kind }) => kinds.length === 0 || kinds.includes(kind))
    .map(({ kind, sequence, userId, sessionId, provider, created }) => ({
      ...{ kind, sequence, userId, sessionId, provider, created },
    }))
  const to = found.at(-1)?.sequence ?? last
  if (!(await webhooks.add(caller, id, { after: position, position: to, messages }))) return { added: 0, missed: false }
  webhook.position = to
  return { added: messages.length, missed: false }
}
