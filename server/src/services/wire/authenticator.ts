import type { AuthenticatorSchema, CreateAuthenticatorRequest } from "@authwire/proto"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import type * as domain from "../../store/types.js"
import { fromExtra, timesOf, type Whole, type WholeMessage } from "./values.js"

export function toAuthenticator(request: CreateAuthenticatorRequest): Whole<domain.Authenticator> {
  return {
    credentialID: request.credentialId,
    userId: request.userId,
    providerAccountId: request.providerAccountId,
    credentialPublicKey: request.credentialPublicKey,
    counter: request.counter,
    credentialDeviceType: request.credentialDeviceType,
    credentialBackedUp: request.credentialBackedUp,
    transports: request.transports,
    extra: request.extra ?? {},
    displayName: undefined,
    lastUsed: undefined,
  }
}

export function fromAuthenticator(
  authenticator: domain.Authenticator | domain.ListedAuthenticator,
): WholeMessage<typeof AuthenticatorSchema> {
  return {
    credentialId: authenticator.credentialID,
    userId: authenticator.userId,
    providerAccountId: authenticator.providerAccountId,
    credentialPublicKey: authenticator.credentialPublicKey,
    counter: authenticator.counter,
    credentialDeviceType: authenticator.credentialDeviceType,
    credentialBackedUp: authenticator.credentialBackedUp,
    transports: authenticator.transports,
    extra: fromExtra(authenticator.extra),
    displayName: authenticator.displayName,
    lastUsedTime: authenticator.lastUsed && timestampFromDate(authenticator.lastUsed),
    ...timesOf(authenticator),
  }
}
