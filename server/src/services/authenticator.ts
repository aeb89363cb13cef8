import type { AuthenticatorService } from "@authwire/proto"
import type { Implementation } from "../rpc/call.js"
import type { AuthenticatorStore } from "../store/store.js"
import { fromAuthenticator, toAuthenticator } from "./wire/authenticator.js"
import { found } from "./wire/values.js"

/** Creates the service for the authenticators of the store. */
export function authenticatorService(deps: {
  authenticators: AuthenticatorStore
}): Implementation<typeof AuthenticatorService> {
  const { authenticators } = deps
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
    async updateAuthenticatorCounter(request, call) {
      const updated = await authenticators.updateCounter(call, request.credentialId, request.newCounter)
      return { authenticator: fromAuthenticator(found(updated, "AUTHENTICATOR_NOT_FOUND")) }
    },
  }
}
