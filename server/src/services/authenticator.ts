import type { AuthenticatorService } from "@authwire/proto"
import type { Implementation } from "../rpc/call.js"
import type { Store } from "../store/store.js"
import { fromAuthenticator, toAuthenticator } from "./wire/authenticator.js"
import { found, toPage } from "./wire/values.js"

type Stores = Pick<Store, "authenticators">

/** Creates the service for the authenticators of the store. */
export function authenticatorService({ authenticators }: Stores): Implementation<typeof AuthenticatorService> {
  return {
    async createAuthenticator(request, caller) {
      return { authenticator: fromAuthenticator(await authenticators.create(caller, toAuthenticator(request))) }
    },
    async getAuthenticator(request, caller) {
      const authenticator = found(await authenticators.get(caller, request.credentialId), "AUTHENTICATOR_NOT_FOUND")
      return { authenticator: fromAuthenticator(authenticator) }
    },
    async listAuthenticatorsByUserId(request, caller) {
      const list = await authenticators.listByUserId(caller, request.userId)
      return { authenticators: list.map(fromAuthenticator) }
    },
    async listAuthenticators(request, caller) {
      const { items, nextToken } = await authenticators.list(caller, request.userId, toPage(request))
      return { authenticators: items.map(fromAuthenticator), nextPageToken: nextToken ?? "" }
    },
    async updateAuthenticator({ credentialId, displayName, userId }, caller) {
      const renamed = await authenticators.rename(caller, credentialId, displayName || undefined, userId)
      return { authenticator: fromAuthenticator(found(renamed, "AUTHENTICATOR_NOT_FOUND")) }
    },
    async deleteAuthenticator({ credentialId, userId }, caller) {
      const deleted = await authenticators.delete(caller, credentialId, userId)
      return { authenticator: fromAuthenticator(found(deleted, "AUTHENTICATOR_NOT_FOUND")) }
    },
    async updateAuthenticatorCounter(request, caller) {
      const updated = await authenticators.updateCounter(caller, request.credentialId, request.newCounter)
      return { authenticator: fromAuthenticator(found(updated, "AUTHENTICATOR_NOT_FOUND")) }
    },
  }
}
