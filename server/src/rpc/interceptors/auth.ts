import type { DescMethod } from "@bufbuild/protobuf"
import { claimsKey, parseKey } from "../../auth/api-key.js"
import type { Identity } from "../../auth/identity.js"
import { Key } from "../../auth/key.js"
import type { Keyring } from "../../auth/keyring.js"
import { anyScope, requireScope, scopeMissing, scopeOf } from "../../auth/scopes.js"
import { Failure, type Reason } from "../../errors/failure.js"
import { orAborted } from "../../util/abort.js"
import { oncePer } from "../../util/once-per.js"
import type { Call } from "../call.js"
import type { Access } from "../interceptor.js"

export interface AccessOptions {
  keyring: Keyring
  /** Whether a call without a key is admitted too, as the default tenant with every scope. Default: false. */
  keyless?: boolean
  /** The time in milliseconds since 1970. */
  now: () => number
}

/**
 * The failures of an authentication that a connection counts. With OVERLOADED the key was not looked up, because there
 * are too many unknown keys. It may be a valid key that is new, which works after the next read of the list. Its
 * connection has a budget for several such failures.
 */
const unauthenticated: ReadonlySet<Reason> = new Set(["API_KEY_MISSING", "API_KEY_INVALID", "OVERLOADED"])

/**
 * The failures of calls without a valid key. Each is created once, because to record the stack of an error is a large part of what such a
 * call costs, and anybody can make it.
 */
const keyMissing = new Failure("API_KEY_MISSING")
/** `/v1/authorize`, the only method that prefers a certificate, reads the key from another header. */
const keyMissingAtAuthorize = new Failure("API_KEY_MISSING", {
  message: "the call has no API key: send it as x-api-key: awk_…, because authorization is the user's header",
})
const keyInvalid = new Failure("API_KEY_INVALID")

function missing({ prefersCertificate }: Call): Failure {
  return prefersCertificate ? keyMissingAtAuthorize : keyMissing
}

const keylessIdentity: Identity = { keyId: undefined, tenant: "default", hasScope: () => true }

/**
 * Authenticates a call by its API key or by its client's certificate, and admits it if the key has the scope of the
 * method. Methods that require no scope, those of health and reflection, are open.
 *
 * Throws API_KEY_MISSING, API_KEY_INVALID (with the same message and after the same work for a key that is unknown,
 * wrong, revoked or expired), SCOPE_MISSING, and DATABASE_UNAVAILABLE when the validity of the key cannot be
 * determined. A call that lasts ends with the same errors when its key would no longer admit it. A stream that carries
 * calls goes on, but its calls are rejected.
 */
export function access(options: AccessOptions): Access {
  const { keyring, keyless = false, now } = options

  const valid = (key: Key | undefined, fits: boolean): Key => {
    if (key === undefined || !fits || key.isExpired(now())) throw keyInvalid
    return key
  }

  const byKey = (header: string): Identity | Promise<Identity> => {
    const parts = parseKey(header)
    if (parts === undefined) throw keyInvalid
    const { id, secret } = parts
    const key = keyring.get(id)
    if (key !== undefined) return valid(key, Key.opens(key, secret))
    return keyring.lookUp(id).then((found) => valid(found, Key.opens(found, secret)))
  }

  const byCertificate = (call: Call): Identity | Promise<Identity> => {
    const certificateNames = call.connection?.certificateNames ?? []
    if (certificateNames.length === 0) throw missing(call)
    const named = (key: Key | undefined): Key => {
      if (key === undefined) throw missing(call)
      return valid(key, key.certificateName !== undefined && certificateNames.includes(key.certificateName))
    }
    const found = keyring.ofCertificate(certificateNames)
    return found instanceof Promise ? found.then(named) : named(found)
  }

  /** Checks a key that was admitted before, because it may have been revoked or have expired since. */
  const recheck = (identity: Key): Key | Promise<Key> => {
    const key = keyring.get(identity.keyId)
    if (key !== undefined) return valid(key, key.admitsSameCaller(identity))
    return keyring.lookUp(identity.keyId).then((found) => valid(found, found?.admitsSameCaller(identity) === true))
  }

  const authenticate = (call: Call): Identity | Promise<Identity> => {
    if (call.pipeline !== undefined) {
      // The stream was authenticated when it began.
      const { identity } = call.pipeline
      if (identity === undefined) throw new Error("an unauthenticated stream carries calls")
      return identity instanceof Key ? recheck(identity) : identity
    }
    if (call.givenIdentity !== undefined) return call.givenIdentity
    const header = call.header("authorization")
    if (keyless && (header === undefined || !claimsKey(header))) return keylessIdentity
    const ignoresHeader = call.prefersCertificate && keyring.hasCertificate(call.connection?.certificateNames ?? [])
    return header === undefined || ignoresHeader ? byCertificate(call) : byKey(header)
  }

  /** Counts a call whose authentication has failed, and throws the failure. */
  const fail = (call: Call, error: unknown): never => {
    if (error instanceof Failure && unauthenticated.has(error.reason)) call.connection?.countUnauthenticated()
    throw error
  }

  return {
    admit(method) {
      const scope = scopeOf(method)
      if (scope === undefined) return undefined
      const authorize = (call: Call, identity: Identity): void => {
        call.identity = identity
        // The stream keeps the newest state of its key.
        if (call.pipeline !== undefined) call.pipeline.identity = identity
        if (scope !== anyScope && !identity.hasScope(scope)) throw scopeMissing(scope)
      }
      return (call) => {
        let identity: Identity | Promise<Identity>
        try {
          identity = authenticate(call)
        } catch (error) {
          return fail(call, error)
        }
        if (!(identity instanceof Promise)) {
          authorize(call, identity)
          return undefined
        }
        const found = identity.catch((error) => fail(call, error))
        return orAborted(found, call.signal).then((one) => authorize(call, one))
      }
    },
    recheck(call) {
      const { identity, method } = call
      if (!(identity instanceof Key)) return
      const scope = requiredScope(method)
      // A stream that carries calls goes on, because each of its calls is checked.
      if (scope === anyScope && method.methodKind !== "unary") return
      const check = async () => {
        const key = await recheck(identity)
        valid(key, key.tenant === identity.tenant)
        if (scope !== anyScope) requireScope(key, scope)
        call.identity = key
      }
      check().catch((error: unknown) => call.abort(error))
    },
  }
}

/** The scope of a method that only calls with an identity have. */
const requiredScope = oncePer((method: DescMethod) => scopeOf(method) ?? anyScope)
