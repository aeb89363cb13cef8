import { readFileSync } from "node:fs"
import {
  AccountService,
  AccountType,
  AuthenticatorService,
  IntrospectionService,
  SessionService,
  TokenService,
  UserService,
  VerificationTokenService,
} from "@authwire/proto"
import type { DescMessage, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"

/** A call that succeeds if the calls before it succeeded. */
export type Ordinary = readonly [method: DescMethodUnary, request: object]

const vectors = JSON.parse(readFileSync(new URL("../../token/vectors.json", import.meta.url), "utf8")) as {
  valid: { secrets: string[]; salt: string; token: string; clock?: string }[]
}
const vector = vectors.valid.find(({ clock }) => clock === undefined)
if (vector === undefined) throw new Error("no vector for any time")
const { token, salt, secrets } = vector

const expires = timestampFromDate(new Date("2099-12-31T23:59:59.987Z"))
const userId = "Zoë \u{1f98a} of the transports"
const email = "Zoë.Ünïcode@Example.COM"
const extra = {
  "key with spaces, and ümlaut": "✓",
  "\u{1f98a}": ["e\u0301", "é", "\u0000", "\ud7ff", "\uffff"],
  numbers: [-0, 0.1, 5e-324, Number.MAX_SAFE_INTEGER, -1e308],
  nested: { list: [1, "two", null, { three: [true, {}] }], none: [] },
}
const account = { provider: "provider é", providerAccountId: "Account/with ?#%25 and spaces " }
const sessionToken = `session ${"é".repeat(8000)}`
const verification = { identifier: "Zoë@example.com", token: "link ✓" }
const credentialId = "AbC+/é=="
const large = (letter: string) => letter.repeat(65_536 / Buffer.byteLength(letter))

/**
 * Every method of the typed clients, with large values and text of all kinds of Unicode. Together they leave no rows behind,
 * so that they can be repeated with the same responses.
 */
export const ordinary: readonly Ordinary[] = [
  one(UserService.method.createUser, {
    id: userId,
    email,
    emailVerified: expires,
    name: "Ada \u{1f98a} Lovelace\n\t\u007f",
    image: `data:image/png;base64,${"A".repeat(262_144 - 22)}`,
    extra,
  }),
  one(UserService.method.getUser, { id: userId }),
  one(UserService.method.getUserByEmail, { email: "Zoë.Ünïcode@example.com" }),
  one(UserService.method.listUsers, { email, createdBefore: expires, pageSize: 1 }),
  one(UserService.method.exportUser, { userId, pageSize: 1 }),
  one(UserService.method.batchGetUsers, { ids: [userId, "nobody \u{1f98a}", userId] }),
  one(UserService.method.countUsers, { email, createdBefore: expires }),
  one(UserService.method.updateUser, { id: userId, name: "", updateMask: { paths: ["name", "image"] } }),
  one(AccountService.method.linkAccount, {
    ...account,
    userId,
    type: AccountType.OIDC,
    accessToken: large("a"),
    idToken: large("é"),
    refreshToken: large("\u{1f98a}"),
    tokenType: "bearer",
    scope: "openid profile",
    expiresIn: 3599.5,
    expiresAt: 1_893_456_000,
    extra: { blob: "x".repeat(65_536 - 11) },
  }),
  one(UserService.method.getUserByAccount, account),
  one(AccountService.method.getAccount, account),
  one(AccountService.method.listAccountsByUser, { userId, includeTokens: true }),
  one(AccountService.method.getAccessToken, {
    userId,
    provider: account.provider,
    minValidity: { seconds: 3_600n, nanos: 0 },
  }),
  one(SessionService.method.createSession, {
    sessionToken,
    userId,
    expires,
    extra,
    ip: "2001:db8::1",
    userAgent: "é".repeat(512),
    authMethod: "passkey",
    provider: account.provider,
    impersonator: "Staff \u{1f98a}",
    providerSessionId: "sid \u{1f98a}",
  }),
  one(SessionService.method.listSessions, { userId, active: true, provider: "none", createdSince: expires }),
  one(SessionService.method.countSessions, { active: true, createdSince: { seconds: 1_000_000_000n } }),
  one(SessionService.method.revokeSession, { id: "none" }),
  one(SessionService.method.revokeSessions, { userIds: ["nobody", "\u{1f98a}"] }),
  one(SessionService.method.revokeAllSessions, { createdBefore: { seconds: 1_000_000_000n }, provider: "provider é" }),
  one(SessionService.method.getSessionAndUser, { sessionToken }),
  // Not due, because an extension would have another expiry each time.
  one(SessionService.method.accessSession, {
    sessionToken,
    extend: { maxAge: { seconds: 2_592_000n }, updateAge: { seconds: 86_400n } },
  }),
  one(IntrospectionService.method.introspect, {
    headers: [
      { name: "Cookie", value: "theme=dark" },
      { name: "cookie", value: `authjs.session-token=${encodeURIComponent(sessionToken)}` },
    ],
  }),
  one(SessionService.method.getSession, { id: "that of the session" }),
  one(SessionService.method.getLogoutUrl, {
    sessionToken,
    postLogoutRedirectUri: "https://app.example.com/%C3%A9?a=b",
  }),
  one(SessionService.method.updateSession, { sessionToken, extra: { a: 1 }, updateMask: { paths: ["extra"] } }),
  one(SessionService.method.revokeUserSessions, { userId, keptId: "none", keptSessionToken: sessionToken }),
  one(SessionService.method.deleteSession, { sessionToken }),
  one(VerificationTokenService.method.createVerificationToken, { ...verification, expires }),
  one(VerificationTokenService.method.useVerificationToken, verification),
  one(AuthenticatorService.method.createAuthenticator, {
    credentialId,
    userId,
    providerAccountId: account.providerAccountId,
    credentialPublicKey: "k".repeat(16_384),
    counter: 0xffff_fffe,
    credentialDeviceType: "multiDevice",
    credentialBackedUp: true,
    transports: "internal,hybrid",
  }),
  one(UserService.method.disableUser, { id: userId, reason: "\u{1f98a}".repeat(500), endTime: expires }),
  one(UserService.method.enableUser, { id: userId }),
  one(AuthenticatorService.method.getAuthenticator, { credentialId }),
  one(AuthenticatorService.method.updateAuthenticatorCounter, { credentialId, newCounter: 0xffff_ffff }),
  one(AuthenticatorService.method.listAuthenticatorsByUserId, { userId }),
  one(AuthenticatorService.method.updateAuthenticator, { credentialId, userId, displayName: "\u{1f98a}".repeat(100) }),
  one(AuthenticatorService.method.listAuthenticators, { userId, pageSize: 1 }),
  one(AuthenticatorService.method.deleteAuthenticator, { credentialId, userId }),
  one(AccountService.method.unlinkAccount, account),
  one(UserService.method.deleteUser, { id: userId }),
  one(TokenService.method.decode, { token, salt, secrets }),
  one(TokenService.method.getToken, {
    headers: [{ name: "cookie", value: `authjs.session-token=${token}` }],
    salt,
    secrets,
  }),
  one(TokenService.method.encode, { payload: { sub: userId, extra }, salt, maxAge: 60 }),
]

function one<I extends DescMessage>(method: DescMethodUnary<I>, request: MessageInitShape<I>): Ordinary {
  return [method, request]
}
