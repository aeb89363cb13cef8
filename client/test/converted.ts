import type { AdapterAccount, AdapterAuthenticator, AdapterSession, AdapterUser } from "@auth/core/adapters"
import {
  AccountSchema,
  AuthenticatorSchema,
  CreateAuthenticatorRequestSchema,
  CreateSessionRequestSchema,
  CreateUserRequestSchema,
  LinkAccountRequestSchema,
  SessionSchema,
  UserSchema,
} from "@authwire/proto"
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import * as convert from "../src/adapter/convert.js"

/**
 * Serializes a message as a request and parses it as the resource in a response: their fields have the same numbers.
 */
export function overTheWire<I extends DescMessage, O extends DescMessage>(
  input: I,
  init: MessageInitShape<I>,
  output: O,
) {
  return fromBinary(output, toBinary(input, create(input, init)))
}

/** These return what the conversions in both directions make of a resource. */
export const user = (value: Partial<AdapterUser>) =>
  convert.userFromWire(overTheWire(CreateUserRequestSchema, convert.userToWire(value), UserSchema))
export const account = (value: AdapterAccount) =>
  convert.accountFromWire(overTheWire(LinkAccountRequestSchema, convert.accountToWire(value), AccountSchema))
export const session = (value: AdapterSession) =>
  convert.sessionFromWire(overTheWire(CreateSessionRequestSchema, convert.sessionToWire(value), SessionSchema))
export const authenticator = (value: AdapterAuthenticator) => {
  const wire = convert.authenticatorToWire(value)
  return convert.authenticatorFromWire(overTheWire(CreateAuthenticatorRequestSchema, wire, AuthenticatorSchema))
}

/** Resources without anything optional. */
export const minimal = {
  user: { id: "u1", email: "ada@example.com", emailVerified: null },
  account: { userId: "u1", type: "oidc", provider: "p", providerAccountId: "1" } as AdapterAccount,
  session: { sessionToken: "s", userId: "u1", expires: new Date(0) },
  authenticator: {
    credentialID: "Y3JlZA==",
    userId: "u1",
    providerAccountId: "1",
    credentialPublicKey: "a2V5",
    counter: 0,
    credentialDeviceType: "singleDevice",
    credentialBackedUp: false,
  },
}
