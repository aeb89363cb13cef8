import type { Peer } from "../../config/import-sources.js"
import type { BulkName } from "../../store/sql/index.js"

type Layout = Readonly<Record<BulkName, string>>

/** The models of Prisma, whose names Kysely's adapter uses too. */
const models: Layout = {
  users: "User",
  accounts: "Account",
  sessions: "Session",
  verificationTokens: "VerificationToken",
  authenticators: "Authenticator",
}

/** The entities of TypeORM. Sequelize names its tables in the same way. */
const entities: Layout = {
  users: "users",
  accounts: "accounts",
  sessions: "sessions",
  verificationTokens: "verification_tokens",
  authenticators: "authenticators",
}

/** The names of the tables in each adapter's documentation. next-auth 4 has the same, without authenticators. */
export const layouts: Readonly<Record<Peer, Layout>> = {
  prisma: models,
  drizzle: {
    users: "user",
    accounts: "account",
    sessions: "session",
    verificationTokens: "verificationToken",
    authenticators: "authenticator",
  },
  typeorm: entities,
  kysely: models,
  sequelize: entities,
  pg: { ...entities, verificationTokens: "verification_token" },
  // The collections of MongoDB's adapter.
  jsonl: entities,
}

/** The tables that must exist. The others are missing in applications without e-mail links or passkeys. */
export const requiredTables: readonly BulkName[] = ["users", "accounts", "sessions"]

/** The properties of the contract, after which columns are named, and whether a column for each is required. */
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

/** The properties by which rows are looked up. If the database folds one, two rows may have been one to it. */
export const keyFields: Readonly<Record<BulkName, readonly string[]>> = {
  users: ["id"],
  accounts: ["provider", "providerAccountId"],
  sessions: ["sessionToken"],
  verificationTokens: ["identifier", "token"],
  authenticators: ["credentialID"],
}

/** Returns the name of a property in the schema and in most databases. */
export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (letters) => `_${letters.toLowerCase()}`)
}
