import { tables } from "./0001-tables.js"
import { lists } from "./0002-lists.js"
import { idempotency } from "./0003-idempotency.js"
import { leases } from "./0004-leases.js"
import { provisionalUsers } from "./0005-provisional-users.js"
import { expiredVerificationTokens } from "./0006-expired-verification-tokens.js"
import { sessionHandles } from "./0007-session-handles.js"
import { rowTimes } from "./0008-row-times.js"
import { events } from "./0009-events.js"
import { tokenRefreshes } from "./0010-token-refreshes.js"
import { caches } from "./0011-caches.js"

/** All migrations, in their order. */
export const migrations = [
  tables,
  lists,
  idempotency,
  leases,
  provisionalUsers,
  expiredVerificationTokens,
  sessionHandles,
  rowTimes,
  events,
  tokenRefreshes,
  caches,
]
