import { StoreError } from "../../../errors/store-error.js"
import type { ApiKeyStore, Caller, Waiter } from "../../store.js"
import type { ApiKey } from "../../types.js"

/**
 * Runs work that creates an API key in the unsharded keyspace, where it is committed before the transaction of its call, which is in a
 * shard. If that is rolled back, for example because another call that shares it fails, all of the call runs again with the same key,
 * which is there already. Then this returns it.
 */
export async function unlessCreated<T>(
  { get }: Pick<ApiKeyStore, "get">,
  waiter: Waiter | Caller,
  { id, tenant, secretHash }: Pick<ApiKey, "id" | "tenant" | "secretHash">,
  work: () => Promise<T>,
): Promise<T | ApiKey> {
  try {
    return await work()
  } catch (error) {
    const mayRunAgain = "transaction" in waiter && waiter.transaction !== undefined
    if (!mayRunAgain || !(error instanceof StoreError && reasons.has(error.reason)) || secretHash === undefined)
      throw error
    const found = await get({}, id)
    if (found?.tenant === tenant && found.secretHash?.equals(secretHash)) return found
    throw error
  }
}

/** Why a key is not created that is there already: the tenant may be full since. */
const reasons: ReadonlySet<string> = new Set(["TENANT_ALREADY_EXISTS", "API_KEY_ALREADY_EXISTS", "INVALID_FIELD"])
