import type { AuthenticatorService } from "@authwire/proto"
import type { Implementation } from "../rpc/call.js"
import type { Store } from "../store/store.js"
import { fromAuthenticator, toAuthenticator } from "./wire/authenticator.js"
import { found, toPage } from "./wire/values.js"

type Stores = Pick<Store, "authenticators">

/** Creates the service for the authenticators of the store. */
export function authenticatorService({ authenticators }: Stores): Implementation<typeof AuthenticatorService> {
  return {
    async createAuthenticator(request, call) {
      return { authenticator: fromAuthenticator(await authenticators.create(call, toAuthenticator(request))) }
    },
    async getAuthenticator(request, call) {
      const authenticator = found(await authenticators.get(call, request.credentialId), "AUTHENTICATOR_NOT_FOUND")
      return { authenticator: fromAuthenticator(authenticator) }
    },
    async listAuthenticatorsByUserId(request, call) {
      const list = await authenticators.listByUserId(call, request.userId)
      return { authenticators: list.map(fromAuthenticator) }
    },
    async listAuthenticators(request, call) {
      const { items, nextToken } = await authenticators.list(call, request.userId, toPage(request))
      return { authenticators: items.map(fromAuthenticator), nextPageToken: nextToken ?? "" }
    },
    async updateAuthenticator({ credentialId, displayName, userId }, call) {
      const renamed = await authenticators.rename(call, credentialId, displayName || undefined, userId)
      return { authenticator: fromAuthenticator(found(renamed, "AUTHENTICATOR_NOT_FOUND")) }
    },
    async deleteAuthenticator({ credentialId, userId }, call) {
      const deleted = await authenticators.delete(call, credentialId, userId)
      return { authenticator: fromAuthenticator(found(deleted, "AUTHENTICATOR_NOT_FOUND")) }
    },
    async updateAuthenticatorCounter(request, call) {
      const updated = await authenticators.updateCounter(call, request.credentialId, request.newCounter)
      return { authenticator: fromAuthenticator(found(updated, "AUTHENTICATOR_NOT_FOUND")) }
    },
  }
}
