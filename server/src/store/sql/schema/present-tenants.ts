import { StoreError } from "../../../errors/store-error.js"
import { failsBy } from "../query/statement-error.js"
import type { Dialect } from "./dialect.js"

/*
 * Only a tenant that exists, and is not being deleted, gets rows. A tenant is deleted by a mark, the time in `tenants.deleted`, before
 * its rows are. Rows of users depend on their user (see present-users.ts), and an event on the write that it records. Every other
 * insert of a row with a tenant contains this condition.
 */

/**
 * Returns the value of the tenant in the insert of a row: null if there is no such tenant, or it is being deleted. The column is not
 * nullable, so the insert fails. It locks the tenant's row, shared, until the transaction ends: once the row could be locked after the
 * mark, every transaction that did not see the mark has ended.
 *
 * @param tenant a parameter.
 * @param since a parameter with a time: null also if the tenant was created after it, so that the row is one of an earlier tenant of the
 *   name. Default: none, for rows whose call has been authenticated by a key that goes with the tenant.
 */
export function presentTenant(tenant: string, { lockOfParent }: Dialect, since?: string): string {
  const isSince = since === undefined ? "" : ` AND h.created <= ${since}`
  return `(SELECT h.name FROM tenants h WHERE h.name = ${tenant} AND h.deleted IS NULL${isSince}${lockOfParent})`
}

/** Returns TENANT_NOT_FOUND for an insert that has failed by the condition, and any other error as it is. */
export function tenantNotFound(error: unknown): unknown {
  if (!failsBy(error, "no-parent")) return error
  return new StoreError("TENANT_NOT_FOUND", "the tenant does not exist, or is being deleted", { cause: error })
}
