import { claimsKey, parseKey } from "../../auth/api-key.js"
import { Key } from "../../auth/key.js"
import type { Keyring } from "../../auth/keyring.js"
import { anyScope, requireScope, scopeOf } from "../../auth/scopes.js"
import { orAborted } from "../../util/abort.js"
import type { Call } from "../call.js"
import { Failure, type Reason } from "../errors.js"
import type { Identity } from "../identity.js"
import type { Interceptor } from "../interceptor.js"

export interface AccessOptions {
  keyring: Keyring
  /** Whether whoever brings no key is let in too, as the default tenant with every scope. Default: false. */
  keyless?: boolean
  /** The time in milliseconds since 1970. */
  now: () => number
}

/**
 * How often a stream that is open is asked for its key, in milliseconds: what is known of a key counts for 4.5 seconds, and who
 * was let in by one that is revoked is to be told within 5.
 */
const askAgainMs = 400

const strangers: ReadonlySet<Reason> = new Set(["API_KEY_MISSING", "API_KEY_INVALID"])

const anybody: Identity = { keyId: undefined, tenant: "default", hasScope: () => true }

/**
 * Lets a call in by its API key or by the certificate of its client, if the key has the scope of the method. Methods
 * that ask for no scope, those of health and reflection, are open. A stream ends, with the same, when its key would not let
 * it in any more; one that carries calls goes on, and its calls are not let in.
 *
 * Throws API_KEY_MISSING, API_KEY_INVALID (in the same words and after the same work for a key that is unknown, wrong,
 * revoked or expired), SCOPE_MISSING, and DATABASE_UNAVAILABLE when nobody can say whether the key is valid.
 */
export function access(options: AccessOptions): Interceptor {
  const { keyring, keyless = false, now } = options

  const valid = (key: Key | undefined, fits: boolean): Key => {
    if (key === undefined || !fits || key.isExpired(now())) throw new Failure("API_KEY_INVALID")
    return key
  }

  const byKey = (header: string): Identity | Promise<Identity> => {
    const parts = parseKey(header)
    if (parts === undefined) throw new Failure("API_KEY_INVALID")
    const { id, secret } = parts
    const key = keyring.get(id)
    if (key !== undefined) return valid(key, Key.opens(key, secret))
    return keyring.seek(id).then((found) => valid(found, Key.opens(found, secret)))
  }

  const byCertificate = (call: Call): Identity | Promise<Identity> => {
    const { certificateNames } = call
    if (certificateNames.length === 0) throw new Failure("API_KEY_MISSING")
    const named = (key: Key | undefined): Key => {
      if (key === undefined) throw new Failure("API_KEY_MISSING")
      return valid(key, key.certificateName !== undefined && certificateNames.includes(key.certificateName))
    }
    const found = keyring.ofCertificate(certificateNames)
    return found instanceof Promise ? found.then(named) : named(found)
  }

  /** The key of who was let in before: it may have been revoked or have expired since. */
  const again = (identity: Key): Key | Promise<Key> => {
    const key = keyring.get(identity.keyId)
    if (key !== undefined) return valid(key, key.letsInAs(identity))
    return keyring.seek(identity.keyId).then((found) => valid(found, found?.letsInAs(identity) === true))
  }

  const authenticate = (call: Call): Identity | Promise<Identity> => {
    if (call.carrier !== undefined) {
      // The stream was let in when it began.
      const { identity } = call.carrier
      if (identity === undefined) throw new Error("a stream that was not let in carries calls")
      return identity instanceof Key ? again(identity) : identity
    }
    const header = call.header("authorization")
    if (keyless && (header === undefined || !claimsKey(header))) return anybody
    return header === undefined ? byCertificate(call) : byKey(header)
  }

  const authenticated = (call: Call): Identity | Promise<Identity> => {
    const turnAway = (error: unknown): never => {
      if (error instanceof Failure && strangers.has(error.reason)) call.connection?.turnAway()
      throw error
    }
    try {
      const identity = authenticate(call)
      return identity instanceof Promise ? identity.catch(turnAway) : identity
    } catch (error) {
      return turnAway(error)
    }
  }

  return {
    admit(method) {
      const scope = scopeOf(method)
      if (scope === undefined) return undefined
      const authorize = (call: Call, identity: Identity): void => {
        call.identity = identity
        // What is known of its key by now.
        if (call.carrier !== undefined) call.carrier.identity = identity
        if (scope !== anyScope) requireScope(identity, scope)
      }
      return (call) => {
        const identity = authenticated(call)
        if (identity instanceof Promise) return orAborted(identity, call.signal).then((one) => authorize(call, one))
        authorize(call, identity)
        return undefined
      }
    },
    stream(method, next) {
      const scope = scopeOf(method)
      // A stream that carries calls goes on: each of them is checked.
      if (scope === undefined || scope === anyScope) return next
      return async function* (requests, call) {
        const { identity } = call
        const unfollow = identity instanceof Key ? follow(call, identity, scope) : undefined
        try {
          yield* next(requests, call)
        } finally {
          unfollow?.()
        }
      }
    },
  }

  /** Ends a stream that is open when its key would not let it in any more, or to another tenant. */
  function follow(call: Call, identity: Key, scope: string): () => void {
    let isAsking = false
    const ask = async () => {
      if (isAsking) return
      isAsking = true
      try {
        const key = await again(identity)
        valid(key, key.tenant === identity.tenant)
        requireScope(key, scope)
      } catch (error) {
        call.abort(error)
      }
      isAsking = false
    }
    const timer = setInterval(ask, askAgainMs).unref()
    return () => clearInterval(timer)
  }
}
