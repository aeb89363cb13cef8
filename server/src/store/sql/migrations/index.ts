import { users } from "./0001-users.js"
import { accounts } from "./0002-accounts.js"
import { sessions } from "./0003-sessions.js"
import { verificationTokens } from "./0004-verification-tokens.js"
import { authenticators } from "./0005-authenticators.js"
import { tenants } from "./0006-tenants.js"
import { defaultTenant } from "./0007-default-tenant.js"
import { apiKeys } from "./0008-api-keys.js"
import { accountsTenant } from "./0009-accounts-tenant.js"
import { sessionsTenant } from "./0010-sessions-tenant.js"
import { authenticatorsTenant } from "./0011-authenticators-tenant.js"
import { usersTenant } from "./0012-users-tenant.js"
import { accountsUser } from "./0013-accounts-user.js"
import { sessionsUser } from "./0014-sessions-user.js"
import { authenticatorsUser } from "./0015-authenticators-user.js"
import { usersTenantGiven } from "./0016-users-tenant-given.js"
import { verificationTokensTenant } from "./0017-verification-tokens-tenant.js"
import { verificationTokensHash } from "./0018-verification-tokens-hash.js"

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
  accountsTenant,
  sessionsTenant,
  authenticatorsTenant,
  usersTenant,
  accountsUser,
  sessionsUser,
  authenticatorsUser,
  usersTenantGiven,
  verificationTokensTenant,
  verificationTokensHash,
]
