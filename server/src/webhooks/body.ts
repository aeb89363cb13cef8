import type { User, WebhookDelivery } from "../store/types.js"

/** The longest image that is sent with a user, in characters: that of a URL. Others are data of up to 16 MiB. */
const longestImage = 2048

/**
 * Returns the body of a delivery, in the form that Standard Webhooks recommends: JSON with the type, the time and the data of the event.
 *
 * @param user The user as it is now, if the webhook asks for it; null: there is none any more.
 */
export function bodyOf(delivery: WebhookDelivery, tenant: string, user: User | null | undefined): string {
  const { kind, created, sequence, userId, sessionId, provider } = delivery
  return JSON.stringify({
    type: kind,
    timestamp: created.toISOString(),
    data: {
      tenant,
      sequence,
      user_id: userId,
      session_id: sessionId,
      provider,
      user: user && {
        id: user.id,
        email: user.email ?? null,
        email_verified: user.emailVerified?.toISOString() ?? null,
        name: user.name ?? null,
        image: user.image != null && user.image.length <= longestImage ? user.image : null,
      },
    },
  })
}
