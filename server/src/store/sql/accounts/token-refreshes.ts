import { createHmac } from "node:crypto"
import { StoreError } from "../../../errors/store-error.js"
import type { Caller, TokenRefreshStore } from "../../store.js"
import type { Account, KeptTokens, RefreshableAccount, RefreshState } from "../../types.js"
import { type Cipher, derivedKey } from "../cipher.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import type { Cell, Statements } from "../query/statement.js"
import { plainZero } from "../schema/column-types.js"
import { isEnabled } from "../schema/present-users.js"
import { columnsWithTimes, timesOf } from "../schema/row-times.js"
import { type AccountRow, refreshColumns as columns } from "../schema/rows.js"
import { userDisabled } from "../users/user-checks.js"
import { sealedAccounts } from "./sealed-accounts.js"

type Refresh = Pick<AccountRow, (typeof columns)[number]>

type Begun = NonNullable<Awaited<ReturnType<TokenRefreshStore["begin"]>>>

/** A decrypted row, with the time of the database's clock when it was read. */
interface Found {
  account: Account
  updated: number
  refresh: Refresh
  now: number
  isEnabled: boolean
}

const idle: Refresh = {}

/**
 * Creates the store of token refreshes. A row has either a holder and the end of its lease, or a failure with a mark
 * and its end, or nothing. An expired lease or failure counts as nothing, except that `begin` reports the expired lease
 * that it replaces.
 *
 * The mark is a keyed hash of the refresh token that failed. It allows a new token to be tried at once, and a reader of
 * the database cannot test guesses of the token. A service with several keys recognizes the marks of each.
 */
export function tokenRefreshStore(
  database: Database,
  options: { cipher: Cipher; encryptionKeys: readonly Buffer[]; clock: () => number; eventOf: EventOf },
): TokenRefreshStore {
  const { cipher, encryptionKeys, clock, eventOf } = options
  const { accounts, users } = database.tables
  const sealed = sealedAccounts(cipher)
  const markKeys = encryptionKeys.map((key) => derivedKey(key, "Authwire marks of refresh tokens"))
  const marksOf = (refreshToken: string) =>
    markKeys.map((key) => createHmac("sha256", key).update(refreshToken).digest())

  const select = () =>
    accounts
      .selectFrom("a")
      .select(
        [
          columnsWithTimes(accounts, "a"),
          ...columns.map((column) => `a.${column}`),
          database.dialect.now,
          `CASE WHEN ${isEnabled("u", database.dialect)} THEN 1 ELSE 0 END`,
        ].join(", "),
      )
      .innerJoin(users.entity, "u", "u.tenant = a.tenant AND u.id = a.userId")
  const byKey = accounts.statement(select().where(accounts.keyIs("a")), ...accounts.key)
  const byUser = accounts.statement(
    select()
      .where("a.tenant = :tenant AND a.userId = :userId AND a.provider = :provider")
      .orderBy("a.providerAccountId")
      .limit(2),
    "tenant",
    "userId",
    "provider",
  )
  const setRefresh = accounts.statement(
    accounts.updateOf(...columns).where(accounts.keyIs()),
    ...accounts.key,
    ...columns,
  )

  const keyOf = ({ tenant }: Caller, { provider, providerAccountId }: Account) => ({
    tenant,
    provider,
    providerAccountId,
  })

  function foundOf({ tenant }: Caller, cells: Cell[]): Found {
    const { updated } = timesOf(accounts, cells)
    const own = cells.slice(accounts.width + 2)
    const cellOf = <Name extends keyof Refresh>(name: Name, index: number) => accounts.value(name, own[index] as Cell)
    const refresh: Refresh = {
      refreshHolder: cellOf("refreshHolder", 0),
      refreshUntil: cellOf("refreshUntil", 1),
      refreshFailure: cellOf("refreshFailure", 2),
      refreshMark: cellOf("refreshMark", 3),
    }
    const now = cellOf("refreshUntil", columns.length) as unknown as Date
    const account = sealed.open(accounts.row(cells), tenant)
    const isEnabled = Number(cells.at(-1)) === 1
    return { account, updated: updated?.getTime() ?? 0, refresh, now: now.getTime(), isEnabled }
  }

  /** Returns the failure that is recorded for the current refresh token, whether its pause is over or not. */
  function failureOf({ account: { refresh_token }, refresh }: Found): string | undefined {
    const { refreshFailure, refreshMark } = refresh
    // Without a mark it is that of an account whose tokens were dropped, because the provider has revoked them.
    if (refresh_token === undefined && refreshMark === undefined) return refreshFailure
    if (refresh_token === undefined || refreshMark === undefined) return undefined
    return marksOf(refresh_token).some((mark) => mark.equals(refreshMark)) ? refreshFailure : undefined
  }

  function stateOf(found: Found): RefreshState {
    const { refreshHolder, refreshUntil } = found.refresh
    const ms = (refreshUntil?.getTime() ?? found.now) - found.now
    if (ms <= 0) return { kind: "idle" }
    if (refreshHolder !== undefined) return { kind: "held", ms }
    const failure = failureOf(found)
    return failure === undefined ? { kind: "idle" } : { kind: "failed", failure, ms }
  }

  function refreshableOf(found: Found, refresh = stateOf(found)): RefreshableAccount {
    const { account, now, updated } = found
    return { account, refresh, ageMs: Math.max(0, now - updated), lastFailure: failureOf(found) }
  }

  /** Runs work while the row of an account is locked. Returns null if the user no longer has the account. */
  const locked = <T>(
    caller: Caller,
    read: Account,
    work: (sql: Statements, found: Found) => Promise<T>,
  ): Promise<T | null> =>
    database.write(caller, [accounts.nameOf(keyOf(caller, read))], async (sql) => {
      const key = keyOf(caller, read)
      // The row is locked first. So the second statement reads its final values, and the clock after any wait for the
      // lock.
      if ((await sql.read(accounts.byKeyForUpdate, key)).length === 0) return null
      const [cells] = await sql.read(byKey, key)
      if (cells === undefined) return null
      const found = foundOf(caller, cells)
      return found.account.userId === read.userId ? work(sql, found) : null
    })

  /** Writes the tokens of a locked account. */
  async function update(caller: Caller, sql: Statements, account: Account): Promise<void> {
    const row = { ...sealed.seal(account, caller.tenant), updated: new Date(clock()) }
    await sql.write(accounts.update, row, eventOf(caller, "account.updated", account))
  }

  return {
    async get(caller, { userId, provider, providerAccountId }) {
      const sql = database.reads(caller)
      const rows =
        providerAccountId === undefined
          ? await sql.read(byUser, { tenant: caller.tenant, userId, provider })
          : await sql.read(byKey, { tenant: caller.tenant, provider, providerAccountId })
      if (rows.length > 1) {
        const rule = "is required, because the user has several accounts at the provider"
        throw new StoreError("INVALID_FIELD", rule, { field: "provider_account_id" })
      }
      const [cells] = rows
      const found = cells && foundOf(caller, cells)
      if (found === undefined || found.account.userId !== userId) return null
      if (!found.isEnabled) throw userDisabled()
      return refreshableOf(found)
    },

    begin: (caller, read, { holder, ms }) =>
      locked(caller, read, async (sql, found): Promise<Begun> => {
        if (!found.isEnabled) throw userDisabled()
        const { account, now } = found
        const { refreshHolder, refreshUntil = new Date(now) } = found.refresh
        const isMine = refreshHolder === holder
        const refresh: RefreshState = isMine ? { kind: "idle" } : stateOf(found)
        // A provider may return the same token again with a later expiry.
        const isAsRead = (["access_token", "refresh_token", "expires_at"] as const).every(
          (field) => account[field] === read[field],
        )
        if (!isAsRead || refresh.kind !== "idle") return { ...refreshableOf(found, refresh), taken: false }
        const lease = { ...idle, refreshHolder: holder, refreshUntil: new Date(now + ms) }
        await sql.write(setRefresh, { ...keyOf(caller, read), ...lease } as AccountRow)
        const isUnreleased = refreshHolder !== undefined && !isMine
        const unreleasedMs = isUnreleased ? now - refreshUntil.getTime() : undefined
        return { ...refreshableOf(found, { kind: "held", ms }), taken: true, unreleasedMs }
      }),

    async release(caller, account, holder) {
      await locked(caller, account, async (sql, { refresh }) => {
        if (refresh.refreshHolder !== holder) return
        await sql.write(setRefresh, { ...keyOf(caller, account), ...idle } as AccountRow)
      })
    },

    complete: (caller, sent, holder, tokens) =>
      locked(caller, sent, async (sql, { account, refresh }) => {
        const replaced = tokens.refresh_token !== undefined && tokens.refresh_token !== sent.refresh_token
        const isAsSent =
          account.refresh_token === sent.refresh_token && (replaced || account.access_token === sent.access_token)
        const changed = isAsSent ? withTokens(account, tokens) : account
        if (isAsSent) await update(caller, sql, changed)
        if (refresh.refreshHolder === holder) {
          await sql.write(setRefresh, { ...keyOf(caller, sent), ...idle } as AccountRow)
        }
        return changed
      }),

    fail: (caller, sent, holder, { failure, ms, kept }) =>
      locked(caller, sent, async (sql, found) => {
        const { refresh, now } = found
        const isMine = refresh.refreshHolder === holder
        const isSame = found.account.refresh_token === sent.refresh_token && sent.refresh_token !== undefined
        const account = isSame && kept !== undefined ? withTokens(found.account, kept) : found.account
        if (account !== found.account) await update(caller, sql, account)
        const next: Refresh = isSame
          ? {
              refreshFailure: failure,
              refreshUntil: new Date(now + ms),
              refreshMark: marksOf(account.refresh_token as string)[0],
            }
          : idle
        // The lease of another holder stays.
        if (isMine || (isSame && stateOf(found).kind !== "held")) {
          await sql.write(setRefresh, { ...keyOf(caller, sent), ...next } as AccountRow)
        }
        return account
      }),
  }
}

/**
 * Returns an account with the values of the provider's answer. A new access token has the expiry of the answer, or an
 * unknown one. All other values that are missing in the answer stay as they are (RFC 6749, section 6; OpenID Connect
 * Core 1.0, section 12.2).
 */
function withTokens(account: Account, { expires_in, expires_at, ...given }: KeptTokens): Account {
  const stays = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const expiry = given.access_token !== undefined && {
    expires_in: plainZero(expires_in),
    expires_at: plainZero(expires_at),
  }
  const extra = { ...account.extra }
  // Remove the markers of values that were null before.
  for (const field of Object.keys({ ...stays, ...expiry })) delete extra[field]
  return { ...account, ...stays, ...expiry, extra }
}
