import type {
  AdapterAccount,
  AdapterAuthenticator,
  AdapterSession,
  AdapterUser,
  VerificationToken as AdapterVerificationToken,
} from "@auth/core/adapters"
import {
  type Account,
  AccountType,
  type Authenticator,
  type CreateAuthenticatorRequestSchema,
  type CreateSessionRequestSchema,
  type CreateUserRequestSchema,
  type CreateVerificationTokenRequestSchema,
  type LinkAccountRequestSchema,
  type Session,
  type UpdateSessionRequestSchema,
  type UpdateUserRequestSchema,
  type User,
  type VerificationToken,
} from "@authwire/proto/slim"
import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf"
import { timestampDate } from "@bufbuild/protobuf/wkt"
import { invalid, malformed } from "../errors/error.js"
import { markDisabled } from "./disabled-users.js"
import { extraToWire, isPlain, jsonObject } from "./extra.js"
import { counter, date, flag, optional, providedNumber, providedText, text, time } from "./field.js"

const optionalText = optional(text)
const optionalTime = optional(time)
const optionalNumber = optional(providedNumber)
const optionalProvided = optional(providedText)

const accountTypes = {
  oauth: AccountType.OAUTH,
  oidc: AccountType.OIDC,
  email: AccountType.EMAIL,
  webauthn: AccountType.WEBAUTHN,
} as const

export function userToWire(user: Partial<AdapterUser>): MessageInitShape<typeof CreateUserRequestSchema> {
  const { id, email, emailVerified, name, image, ...rest } = user
  return {
    id: optionalText("id", id),
    ...userFields({ email, emailVerified, name, image }),
    // The contract always has `emailVerified`, so null and absent mean the same.
    extra: extraToWire(rest, { email, name, image }),
  }
}

/** Converts an update of a user. Undefined leaves a property unchanged; null clears it: a path without a value. */
export function userUpdateToWire(
  user: Partial<AdapterUser> & Pick<AdapterUser, "id">,
): MessageInitShape<typeof UpdateUserRequestSchema> {
  const { id, email, emailVerified, name, image, ...rest } = user
  const extra = extraToWire(rest)
  return {
    id: text("id", id),
    ...userFields({ email, emailVerified, name, image }),
    extra,
    updateMask: { paths: Object.keys(present({ email, email_verified: emailVerified, name, image, extra })) },
  }
}

function userFields({ email, emailVerified, name, image }: Record<string, unknown>) {
  return {
    email: optionalProvided("email", email),
    emailVerified: optionalTime("emailVerified", emailVerified),
    name: optionalProvided("name", name),
    image: optionalProvided("image", image),
  }
}

export function userFromWire(user: User | undefined): AdapterUser {
  if (user === undefined) throw malformed("without a user")
  const { id, email, emailVerified, name, image, extra } = user
  // The type requires an e-mail address, but some providers do not disclose it.
  const converted = {
    ...extra,
    ...present({ id, email, name, image }),
    emailVerified: emailVerified === undefined ? null : timestampDate(emailVerified),
  } as AdapterUser
  if (user.disabled !== undefined) markDisabled(converted)
  return converted
}

export function accountToWire(account: AdapterAccount): MessageInitShape<typeof LinkAccountRequestSchema> {
  const { userId, type, provider, providerAccountId, ...tokens } = account
  const { access_token, token_type, id_token, refresh_token, scope, expires_in, expires_at, ...others } = tokens
  const { authorization_details, ...rest } = others
  return {
    userId: text("userId", userId),
    type: accountType(type),
    provider: text("provider", provider),
    providerAccountId: providedText("providerAccountId", providerAccountId),
    accessToken: optionalProvided("access_token", access_token),
    tokenType: optionalProvided("token_type", token_type),
    idToken: optionalProvided("id_token", id_token),
    refreshToken: optionalProvided("refresh_token", refresh_token),
    scope: optionalProvided("scope", scope),
    expiresIn: optionalNumber("expires_in", expires_in),
    expiresAt: optionalNumber("expires_at", expires_at),
    authorizationDetails: optional(details)("authorization_details", authorization_details),
    extra: extraToWire(rest, {
      access_token,
      token_type,
      id_token,
      refresh_token,
      scope,
      expires_in,
      expires_at,
      authorization_details,
    }),
  }
}

export function accountFromWire(account: Account | undefined): AdapterAccount {
  if (account === undefined) throw malformed("without an account")
  const type = (Object.keys(accountTypes) as (keyof typeof accountTypes)[]).find(
    (name) => accountTypes[name] === account.type,
  )
  if (type === undefined) throw malformed("an account of a type that this client does not know")
  return {
    ...account.extra,
    userId: account.userId,
    type,
    provider: account.provider,
    providerAccountId: account.providerAccountId,
    ...present({
      access_token: account.accessToken,
      token_type: account.tokenType,
      id_token: account.idToken,
      refresh_token: account.refreshToken,
      scope: account.scope,
      expires_in: account.expiresIn,
      expires_at: account.expiresAt,
      authorization_details: account.authorizationDetails?.items,
    }),
  } as AdapterAccount
}

export function sessionToWire(session: AdapterSession): MessageInitShape<typeof CreateSessionRequestSchema> {
  const { sessionToken, userId, expires, ...rest } = session
  return {
    sessionToken: text("sessionToken", sessionToken),
    userId: text("userId", userId),
    expires: time("expires", expires),
    extra: extraToWire(rest),
  }
}

/** Converts an update of a session. An undefined property is left unchanged. No property of a session may be null. */
export function sessionUpdateToWire(
  session: Partial<AdapterSession> & Pick<AdapterSession, "sessionToken">,
): MessageInitShape<typeof UpdateSessionRequestSchema> {
  const { sessionToken, userId, expires, ...rest } = session
  const extra = extraToWire(rest)
  return {
    sessionToken: text("sessionToken", sessionToken),
    userId: userId === undefined ? undefined : text("userId", userId),
    expires: expires === undefined ? undefined : time("expires", expires),
    extra,
    updateMask: { paths: Object.keys(present({ user_id: userId, expires, extra })) },
  }
}

export function sessionFromWire(session: Session | undefined): AdapterSession {
  if (session === undefined) throw malformed("without a session")
  const { sessionToken, userId, expires, extra } = session
  return { ...extra, sessionToken, userId, expires: date("expires", expires) }
}

export function verificationTokenToWire(
  token: AdapterVerificationToken,
): MessageInitShape<typeof CreateVerificationTokenRequestSchema> {
  return {
    identifier: text("identifier", token.identifier),
    token: text("token", token.token),
    expires: time("expires", token.expires),
  }
}

export function verificationTokenFromWire(token: VerificationToken | undefined): AdapterVerificationToken {
  if (token === undefined) throw malformed("without a verification token")
  return { identifier: token.identifier, token: token.token, expires: date("expires", token.expires) }
}

export function authenticatorToWire(
  authenticator: AdapterAuthenticator,
): MessageInitShape<typeof CreateAuthenticatorRequestSchema> {
  const { credentialID, userId, providerAccountId, credentialPublicKey, ...state } = authenticator
  const { counter: count, credentialDeviceType, credentialBackedUp, transports, ...rest } = state
  return {
    credentialId: text("credentialID", credentialID),
    userId: text("userId", userId),
    providerAccountId: providedText("providerAccountId", providerAccountId),
    credentialPublicKey: text("credentialPublicKey", credentialPublicKey),
    counter: counter("counter", count),
    credentialDeviceType: text("credentialDeviceType", credentialDeviceType),
    credentialBackedUp: flag("credentialBackedUp", credentialBackedUp),
    transports: optionalText("transports", transports),
    extra: extraToWire(rest, { transports }),
  }
}

export function authenticatorFromWire(authenticator: Authenticator | undefined): AdapterAuthenticator {
  if (authenticator === undefined) throw malformed("without an authenticator")
  const { transports } = authenticator
  return {
    ...authenticator.extra,
    credentialID: authenticator.credentialId,
    userId: authenticator.userId,
    providerAccountId: authenticator.providerAccountId,
    credentialPublicKey: authenticator.credentialPublicKey,
    counter: authenticator.counter,
    credentialDeviceType: authenticator.credentialDeviceType,
    credentialBackedUp: authenticator.credentialBackedUp,
    ...present({ transports }),
  }
}

function accountType(type: unknown): AccountType {
  if (typeof type !== "string" || !Object.hasOwn(accountTypes, type))
    throw invalid("type", `must be one of ${Object.keys(accountTypes).join(", ")}`)
  return accountTypes[type as keyof typeof accountTypes]
}

function details(name: string, value: unknown): { items: JsonObject[] } {
  if (!Array.isArray(value)) throw invalid(name, "must be an array of objects")
  const items = Array.from(value, (item: unknown, index) => {
    if (!isPlain(item)) throw invalid(`${name}[${index}]`, "must be an object")
    return jsonObject(`${name}[${index}]`, item)
  })
  return { items }
}

/** Returns the properties that are not undefined: an unset field becomes an absent property. */
function present<T extends object>(properties: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const there: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(properties)) if (value !== undefined) there[name] = value
  return there as { [K in keyof T]?: Exclude<T[K], undefined> }
}
