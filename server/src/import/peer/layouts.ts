import type { BulkName } from "../../store/sql/index.js"

/** Whose tables can be read. `authwire` stands for another database of ours. */
export const peers = ["prisma", "drizzle", "typeorm", "kysely"] as const

export type Peer = (typeof peers)[number]

/** The names of the tables as the documentation of each adapter has them. */
export const layouts: Readonly<Record<Peer, Readonly<Record<BulkName, string>>>> = {
  prisma: {
    users: "User",
    accounts: "Account",
    sessions: "Session",
    verificationTokens: "VerificationToken",
    authenticators: "Authenticator",
  },
  drizzle: {
    users: "user",
    accounts: "account",
    sessions: "session",
    verificationTokens: "verificationToken",
    authenticators: "authenticator",
  },
  typeorm: {
    users: "users",
    accounts: "accounts",
    sessions: "sessions",
    verificationTokens: "verification_tokens",
    authenticators: "authenticators",
  },
  kysely: {
    users: "User",
    accounts: "Account",
    sessions: "Session",
    verificationTokens: "VerificationToken",
    authenticators: "Authenticator",
  },
}

/** The tables without which there is nothing to move. Applications without e-mail links or passkeys lack the others. */
export const requiredTables: readonly BulkName[] = ["users", "accounts", "sessions"]

/** The properties of the contract, which columns are named after, and whether a table can be read without one. */
export const fields: Readonly<Record<BulkName, Readonly<Record<string, "required" | "optional">>>> = {
  users: { id: "required", email: "optional", emailVerified: "optional", name: "optional", image: "optional" },
  accounts: {
    userId: "required",
    type: "required",
    provider: "required",
    providerAccountId: "required",
    access_token: "optional",
    token_type: "optional",
    id_token: "optional",
    refresh_token: "optional",
    scope: "optional",
    expires_in: "optional",
    expires_at: "optional",
    authorization_details: "optional",
  },
  sessions: { sessionToken: "required", userId: "required", expires: "required" },
  verificationTokens: { identifier: "required", token: "required", expires: "required" },
  authenticators: {
    credentialID: "required",
    userId: "required",
    providerAccountId: "required",
    credentialPublicKey: "required",
    counter: "required",
    credentialDeviceType: "required",
    credentialBackedUp: "required",
    transports: "optional",
  },
}

/** What rows are found by: where the database folds these, two of them may have been one to it. */
export const keyFields: Readonly<Record<BulkName, readonly string[]>> = {
  users: ["id"],
  accounts: ["provider", "providerAccountId"],
  sessions: ["sessionToken"],
  verificationTokens: ["identifier", "token"],
  authenticators: ["credentialID"],
}
