import type { AuthwireClient } from "@authwire/client"
import {
  AccountService,
  AccountType,
  AuthenticatorService,
  type ErrorReason,
  SessionService,
  TokenService,
  UserService,
  VerificationTokenService,
} from "@authwire/proto"
import type { DescMessage, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"

/** A valid request that the service must reject. */
export type Rejection = readonly [reason: keyof typeof ErrorReason, method: DescMethodUnary, request: object]

const expires = timestampFromDate(new Date("2099-01-01T00:00:00Z"))
const here = { id: "here", email: "here@example.com" }
const other = { id: "other", email: "other@example.com" }
const blocked = { id: "blocked", email: "blocked@example.com" }
const account = { provider: "p", providerAccountId: "a", type: AccountType.OAUTH }
const session = { sessionToken: "here", userId: here.id, expires }
const link = { identifier: "i", token: "t", expires }
const passkey = {
  credentialId: "c",
  userId: here.id,
  providerAccountId: "a",
  credentialPublicKey: "k",
  counter: 5,
  credentialDeviceType: "singleDevice",
}
const token = "not a token"
const salt = "s"

/** Creates the rows that the rejections need. */
export async function prepareRejections(client: AuthwireClient): Promise<void> {
  for (const user of [here, other, blocked]) await client.users.createUser(user)
  await client.accounts.linkAccount({ ...account, userId: here.id })
  for (const [providerAccountId, refreshToken] of Object.entries({ bare: undefined, due: "r" })) {
    const expired = { accessToken: "a", expiresAt: 1, refreshToken }
    await client.accounts.linkAccount({ ...account, providerAccountId, userId: other.id, ...expired })
  }
  await client.accounts.linkAccount({ ...account, providerAccountId: "blocked", userId: blocked.id })
  await client.users.disableUser({ id: blocked.id })
  await client.sessions.createSession(session)
  await client.verificationTokens.createVerificationToken(link)
  await client.authenticators.createAuthenticator(passkey)
}

/** Every reason of a method other than broken rules. These calls change nothing. */
export const rejections: readonly Rejection[] = [
  one("USER_ALREADY_EXISTS", UserService.method.createUser, { ...here, email: "new@example.com" }),
  one("EMAIL_ALREADY_EXISTS", UserService.method.createUser, { id: "new", email: "HERE@example.com" }),
  one("USER_NOT_FOUND", UserService.method.getUser, { id: "nobody" }),
  one("USER_NOT_FOUND", UserService.method.getUserByEmail, { email: "nobody@example.com" }),
  one("USER_NOT_FOUND", UserService.method.getUserByAccount, { provider: "p", providerAccountId: "none" }),
  one("USER_NOT_FOUND", UserService.method.updateUser, { id: "nobody", name: "x", updateMask: { paths: ["name"] } }),
  one("EMAIL_ALREADY_EXISTS", UserService.method.updateUser, {
    id: here.id,
    email: other.email,
    updateMask: { paths: ["email"] },
  }),
  one("STALE_ETAG", UserService.method.updateUser, {
    id: here.id,
    name: "x",
    updateMask: { paths: ["name"] },
    etag: "stale",
  }),
  one("USER_NOT_FOUND", UserService.method.deleteUser, { id: "nobody" }),
  one("USER_NOT_FOUND", UserService.method.disableUser, { id: "nobody" }),
  one("USER_NOT_FOUND", UserService.method.enableUser, { id: "nobody" }),
  one("USER_DISABLED", AccountService.method.linkAccount, {
    ...account,
    providerAccountId: "blocked",
    userId: blocked.id,
  }),
  one("USER_DISABLED", AccountService.method.getAccessToken, { userId: blocked.id, provider: "p" }),
  one("USER_DISABLED", SessionService.method.createSession, { ...session, sessionToken: "x", userId: blocked.id }),
  one("USER_DISABLED", SessionService.method.updateSession, {
    sessionToken: session.sessionToken,
    userId: blocked.id,
    updateMask: { paths: ["user_id"] },
  }),
  one("USER_DISABLED", AuthenticatorService.method.createAuthenticator, {
    ...passkey,
    credentialId: "d",
    userId: blocked.id,
  }),
  one("USER_NOT_FOUND", AccountService.method.linkAccount, { ...account, userId: "nobody", provider: "q" }),
  one("ACCOUNT_LINKED_TO_ANOTHER_USER", AccountService.method.linkAccount, { ...account, userId: other.id }),
  one("STALE_ETAG", AccountService.method.linkAccount, { ...account, userId: here.id, etag: "stale" }),
  one("ACCOUNT_NOT_FOUND", AccountService.method.unlinkAccount, { provider: "p", providerAccountId: "none" }),
  one("ACCOUNT_NOT_FOUND", AccountService.method.getAccount, { provider: "p", providerAccountId: "none" }),
  one("ACCOUNT_NOT_FOUND", AccountService.method.getAccessToken, { userId: here.id, provider: "q" }),
  one("REFRESH_TOKEN_MISSING", AccountService.method.getAccessToken, {
    userId: other.id,
    provider: "p",
    providerAccountId: "bare",
  }),
  one("PROVIDER_NOT_CONFIGURED", AccountService.method.getAccessToken, {
    userId: other.id,
    provider: "p",
    providerAccountId: "due",
  }),
  one("SESSION_ALREADY_EXISTS", SessionService.method.createSession, session),
  one("USER_NOT_FOUND", SessionService.method.createSession, { ...session, sessionToken: "x", userId: "nobody" }),
  one("SESSION_NOT_FOUND", SessionService.method.getSessionAndUser, { sessionToken: "none" }),
  one("SESSION_NOT_FOUND", SessionService.method.updateSession, {
    sessionToken: "none",
    expires,
    updateMask: { paths: ["expires"] },
  }),
  one("SESSION_NOT_FOUND", SessionService.method.deleteSession, { sessionToken: "none" }),
  one("SESSION_NOT_FOUND", SessionService.method.accessSession, {
    sessionToken: "none",
    extend: { maxAge: { seconds: 60n }, updateAge: {} },
  }),
  one("SESSION_NOT_FOUND", SessionService.method.getSession, { id: "none" }),
  one("VERIFICATION_TOKEN_ALREADY_EXISTS", VerificationTokenService.method.createVerificationToken, link),
  one("VERIFICATION_TOKEN_NOT_FOUND", VerificationTokenService.method.useVerificationToken, {
    identifier: "i",
    token: "none",
  }),
  one("AUTHENTICATOR_ALREADY_EXISTS", AuthenticatorService.method.createAuthenticator, passkey),
  one("USER_NOT_FOUND", AuthenticatorService.method.createAuthenticator, {
    ...passkey,
    credentialId: "d",
    userId: "nobody",
  }),
  one("AUTHENTICATOR_NOT_FOUND", AuthenticatorService.method.getAuthenticator, { credentialId: "none" }),
  one("AUTHENTICATOR_NOT_FOUND", AuthenticatorService.method.updateAuthenticatorCounter, { credentialId: "none" }),
  one("AUTHENTICATOR_NOT_FOUND", AuthenticatorService.method.updateAuthenticator, {
    credentialId: "c",
    userId: "other",
  }),
  one("AUTHENTICATOR_NOT_FOUND", AuthenticatorService.method.deleteAuthenticator, {
    credentialId: "c",
    userId: "other",
  }),
  one("COUNTER_REGRESSION", AuthenticatorService.method.updateAuthenticatorCounter, {
    credentialId: "c",
    newCounter: 4,
  }),
  one("TOKEN_MALFORMED", TokenService.method.decode, { token, salt }),
]

function one<I extends DescMessage>(
  reason: keyof typeof ErrorReason,
  method: DescMethodUnary<I>,
  request: MessageInitShape<I>,
): Rejection {
  return [reason, method, request]
}
