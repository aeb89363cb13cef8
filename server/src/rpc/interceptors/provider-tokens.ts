import { type Account, AccountSchema } from "@authwire/proto"
import { scopeOf } from "../../auth/scopes.js"
import type { Interceptor } from "../interceptor.js"

const readScope = "accounts:read"

/** The fields of an account that may be secret: those that the database stores encrypted, and their digest. */
const secretFields = ["accessToken", "refreshToken", "idToken", "extra", "etag"] as const

/**
 * Removes the provider's tokens from the account in a response, unless the key of the caller has the scope that allows
 * to read them. It must be outside the interceptor for idempotency keys, because a stored response is complete, and the
 * scopes of the key may have changed since it was stored.
 */
export function hideProviderTokens(): Interceptor {
  return {
    unary(method, next) {
      const field = method.output.fields.find(({ message }) => message?.typeName === AccountSchema.typeName)
      // A list of accounts has tokens only on request, and then its handler requires the scope.
      if (field?.fieldKind !== "message" || scopeOf(method) === readScope) return next
      return async (request, call, transaction) => {
        const answer = await next(request, call, transaction)
        if (call.identity?.hasScope(readScope) === true) return answer
        const account = Reflect.get(answer, field.localName) as Account | undefined
        for (const name of secretFields) delete account?.[name]
        return answer
      }
    },
  }
}
