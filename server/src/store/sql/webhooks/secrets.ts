import type { Cipher } from "../cipher.js"
import type { WebhookRow } from "../schema/rows.js"

type Key = Pick<WebhookRow, "tenant" | "id">

/** How the secrets of webhooks are sealed in the database: as a list in JSON, the newest first. */
export function webhookSecrets(cipher: Cipher) {
  const contextOf = ({ tenant, id }: Key) => [tenant, id, "webhooks", "secrets"]
  return {
    seal: (key: Key, secrets: readonly string[]) => cipher.seal(JSON.stringify(secrets), contextOf(key)),
    /** Throws ENCRYPTION_KEY_MISSING. */
    open: (key: Key, sealed: string) => JSON.parse(cipher.open(sealed, contextOf(key))) as string[],
    isCurrent: ({ secrets }: Pick<WebhookRow, "secrets">) => cipher.isCurrent(secrets),
  }
}
