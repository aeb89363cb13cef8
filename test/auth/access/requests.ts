import type { AuthwireClient } from "@authwire/client"
import { AccountType } from "@authwire/proto"
import type { TestDatabase } from "@authwire/test-support/databases/databases.js"
import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { prepareRejections } from "../../transports/rejections.js"

const expires = timestampFromDate(new Date("2100-01-01T00:00:00Z"))

/**
 * What each method would do to the rows of `prepare` if the call were accepted. A method that is not listed gets an
 * empty request.
 */
const requests: Record<string, object> = {
  CreateUser: { id: "intruder", email: "intruder@example.com" },
  UpdateUser: { id: "here", name: "changed", updateMask: { paths: ["name"] } },
  DeleteUser: { id: "here" },
  DisableUser: { id: "here" },
  EnableUser: { id: "blocked" },
  GetUser: { id: "here" },
  GetPrivateExtra: { userId: "here" },
  LinkAccount: { provider: "q", providerAccountId: "b", type: AccountType.OAUTH, userId: "here" },
  UnlinkAccount: { provider: "p", providerAccountId: "a" },
  GetAccessToken: { userId: "other", provider: "p", providerAccountId: "due" },
  CreateSession: { sessionToken: "intruder", userId: "here", expires },
  UpdateSession: { sessionToken: "here", expires, updateMask: { paths: ["expires"] } },
  DeleteSession: { sessionToken: "here" },
  AccessSession: { sessionToken: "here", extend: { maxAge: { seconds: 3_153_600_000n }, updateAge: {} } },
  GetLogoutUrl: { sessionToken: "here" },
  RevokeSession: { id: "none" },
  RevokeUserSessions: { userId: "here" },
  RevokeSessions: { userIds: ["here"] },
  RevokeAllSessions: { provider: "q" },
  UpdateSessionPolicy: { maxAge: { seconds: 3_153_600_000n }, updateMask: { paths: ["max_age"] } },
  CreateVerificationToken: { identifier: "j", token: "u", expires },
  UseVerificationToken: { identifier: "i", token: "t" },
  CreateAuthenticator: {
    credentialId: "intruder",
    userId: "here",
    providerAccountId: "a",
    credentialPublicKey: "k",
    counter: 5,
    credentialDeviceType: "singleDevice",
  },
  UpdateAuthenticatorCounter: { credentialId: "c", newCounter: 9 },
  UpdateAuthenticator: { credentialId: "c", displayName: "changed" },
  DeleteAuthenticator: { credentialId: "c" },
  CreateApiKey: { name: "intruder", scopes: ["users:read"] },
  CreateTenant: { name: "intruder", apiKeyName: "intruder", scopes: ["users:read"] },
  RevokeApiKey: { id: "none" },
  ReceiveSignal: { provider: "p", token: "none" },
  CreateWebhook: { name: "intruder", url: "https://webhooks.invalid/" },
  UpdateWebhook: { id: "none", name: "changed", updateMask: { paths: ["name"] } },
  DeleteWebhook: { id: "none" },
  RotateSecret: { id: "none" },
  SendTest: { id: "none" },
  ListDeliveries: { webhookId: "none" },
  Redeliver: { id: "msg_none_1" },
  Encode: { salt: "s", payload: { sub: "x" } },
}

/** Returns a request that changes something, if the method can. */
export function telling(name: string): object {
  return requests[name] ?? {}
}

/** Creates the rows that the requests refer to. */
export async function prepare(client: AuthwireClient): Promise<void> {
  await prepareRejections(client)
}

/** Returns the current content of all tables that callers can change. */
export async function contents(database: TestDatabase): Promise<string> {
  const tables = [
    "users",
    "accounts",
    "sessions",
    "verification_tokens",
    "authenticators",
    "session_policies",
    "api_keys",
    "tenants",
    "webhooks",
    "webhook_deliveries",
  ]
  const all = await Promise.all(tables.map((table) => database.query(`SELECT * FROM ${table} ORDER BY 1, 2`)))
  return JSON.stringify(all)
}
