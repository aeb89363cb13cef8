import type { TenantSchema, TenantService } from "@authwire/proto"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import type { Implementation } from "../rpc/call.js"
import type { Store } from "../store/store.js"
import type { Tenant } from "../store/types.js"
import { newKeys } from "./api-key.js"
import { fromApiKey } from "./wire/api-key.js"
import { toPage, type WholeMessage } from "./wire/values.js"

/** Creates the service for the tenants of the store. */
export function tenantService({ tenants, now }: Pick<Store, "tenants" | "now">): Implementation<typeof TenantService> {
  const newKeyFor = newKeys()
  return {
    async listTenants(request, caller) {
      const { items, nextToken } = await tenants.page(caller, toPage(request))
      return { tenants: items.map(fromTenant), nextPageToken: nextToken ?? "" }
    },
    async createTenant({ name, apiKeyName, scopes }, caller, call) {
      const { key, text } = newKeyFor(call, apiKeyName, scopes)
      const created = await tenants.createWithKey(caller, { name, created: new Date(now()) }, key)
      return { tenant: fromTenant(created.tenant), apiKey: fromApiKey(created.key), key: text }
    },
  }
}

function fromTenant({ name, created }: Tenant): WholeMessage<typeof TenantSchema> {
  return { name, createTime: timestampFromDate(created) }
}
