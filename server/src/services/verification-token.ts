import type { VerificationTokenService } from "@authwire/proto"
import type { Implementation } from "../rpc/call.js"
import type { VerificationTokenStore } from "../store/store.js"
import { found, required, toDate } from "./wire/values.js"
import { fromVerificationToken } from "./wire/verification-token.js"

/** Creates the service for the verification tokens of the store. */
export function verificationTokenService(
  tokens: VerificationTokenStore,
): Implementation<typeof VerificationTokenService> {
  return {
    async createVerificationToken(request, caller) {
      const { identifier, token } = request
      const expires = toDate(required(request.expires, "expires"), "expires")
      return {
        verificationToken: fromVerificationToken(await tokens.create(caller, { identifier, token, expires })),
      }
    },
    async useVerificationToken(request, caller) {
      const token = found(await tokens.use(caller, request), "VERIFICATION_TOKEN_NOT_FOUND")
      return { verificationToken: fromVerificationToken(token) }
    },
  }
}
