import type { Transcript } from "./programs/suite.js"

/** Returns the expected result of each step of the suite, which is the same in every runtime. */
export function expected(run: string): Transcript {
  const id = `${run}-ada`
  const ada = {
    id,
    email: `${run}.Ada@Example.com`,
    emailVerified: { date: "2024-02-29T23:59:59.987Z" },
    name: "Zoë 🦊",
    role: "admin",
    level: -0.5,
    nothing: null,
    nested: { list: [1, "two", null, { three: [true] }], empty: {} },
  }
  const account = {
    provider: "example",
    providerAccountId: `${run}-account`,
    userId: id,
    type: "oidc",
    access_token: "äää",
    token_type: "bearer",
    expires_at: 1_893_456_000,
    scope: "openid",
    authorization_details: [{ type: "payment", limits: [1, 2.5] }],
    "not-before-policy": 0,
  }
  const session = {
    sessionToken: `${run}-session`,
    userId: id,
    expires: { date: "2099-12-31T23:59:59.001Z" },
  }
  const longer = { ...session, expires: { date: "2100-01-01T00:00:00.500Z" } }
  const verification = {
    identifier: `${run}@example.com`,
    token: "t0k3n",
    expires: { date: "2099-06-07T08:09:10.111Z" },
  }
  const credentialID = `${run}-credential`
  const authenticator = {
    credentialID,
    userId: id,
    providerAccountId: "passkey",
    credentialPublicKey: "pQECAyYgASFYIA==",
    counter: 4_294_967_294,
    credentialDeviceType: "multiDevice",
    credentialBackedUp: true,
    transports: null,
  }
  const failure = (method: string, code: string, reason?: string, fields: string[] = []) => ({
    method,
    code,
    ...(reason && { reason }),
    fields,
  })
  return {
    createUser: ada,
    "createUser, nulls": { id: `${run}-null`, email: null, emailVerified: null, name: null },
    "createUser, taken": failure("createUser", "ALREADY_EXISTS", "USER_ALREADY_EXISTS"),
    "createUser, a Date among the extra properties": failure("createUser", "INVALID_ARGUMENT", "INVALID_FIELD", [
      "extra.since",
    ]),
    getUser: ada,
    "getUser, nobody": null,
    getUserByEmail: ada,
    updateUser: { name: null },
    "updateUser, a large image is kept": true,
    "updateUser, cleared": { ...ada, name: null, image: null, emailVerified: null },
    "updateUser, nobody": failure("updateUser", "NOT_FOUND", "USER_NOT_FOUND"),
    linkAccount: account,
    getAccount: account,
    getUserByAccount: id,
    unlinkAccount: id,
    "unlinkAccount, again": { undefined: true },
    createSession: session,
    getSessionAndUser: { session, userId: id },
    updateSession: longer,
    deleteSession: longer,
    "getSessionAndUser, deleted": null,
    "updateSession, deleted": null,
    createVerificationToken: verification,
    "useVerificationToken, 20 at once": [verification],
    createAuthenticator: authenticator,
    getAuthenticator: 4_294_967_294,
    listAuthenticatorsByUserId: [credentialID],
    updateAuthenticatorCounter: 4_294_967_295,
    "updateAuthenticatorCounter, lower": failure(
      "updateAuthenticatorCounter",
      "FAILED_PRECONDITION",
      "COUNTER_REGRESSION",
    ),
    "200 calls at once": 200,
    deleteUser: id,
    "deleteUser, again": null,
    jwt: { sub: id, roles: ["a", "b"] },
    "nobody listens": failure("getUser", "UNAVAILABLE"),
    "nobody answers": failure("getUser", "DEADLINE_EXCEEDED"),
  }
}
