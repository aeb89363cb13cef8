import { users } from "./0001-users.js"
import { accounts } from "./0002-accounts.js"
import { sessions } from "./0003-sessions.js"
import { verificationTokens } from "./0004-verification-tokens.js"
import { authenticators } from "./0005-authenticators.js"
import { tenants } from "./0006-tenants.js"
import { defaultTenant } from "./0007-default-tenant.js"
import { apiKeys } from "./0008-api-keys.js"

/** All migrations, in their order. */
export const migrations = [
  users,
  accounts,
  sessions,
  verificationTokens,
  authenticators,
  tenants,
  defaultTenant,
  apiKeys,
]
