import { StoreError } from "../../../errors/store-error.js"
import { isListOfObjects } from "../../../util/json.js"
import { accountEtag, checkEtag, staleEtag } from "../../etag.js"
import type { AccountStore, Caller } from "../../store.js"
import type { Account, AccountKey, ListedAccount } from "../../types.js"
import type { Cipher } from "../cipher.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { failsBy } from "../query/statement-error.js"
import { plainZero } from "../schema/column-types.js"
import { checkJsonSize, mergeExtra } from "../schema/extra.js"
import { ofPresentUser } from "../schema/present-users.js"
import { UnreadableRow } from "../schema/row-reader.js"
import { columnsWithTimes, timesOf } from "../schema/row-times.js"
import type { ProvisionalUsers } from "../users/provisional-users.js"
import { userChecks } from "../users/user-checks.js"
import { leftRows } from "../users/user-deletions.js"
import type { UserRevocations } from "../users/user-revocations.js"
import { listAlong } from "../walks/list.js"
import type { PageTokens } from "../walks/page-tokens.js"
import { walks } from "../walks/walks.js"
import { sealedAccounts } from "./sealed-accounts.js"

/** What describes an access token, and is replaced with it. */
const tokenFields = ["token_type", "id_token", "scope", "expires_in", "expires_at", "authorization_details"] as const
/** The columns of a failed refresh. */
const failureColumns = ["refreshUntil", "refreshFailure", "refreshMark"] as const
const nullableFields = ["access_token", "refresh_token", ...tokenFields] as const

export function accountStore(
  database: Database,
  options: {
    cipher: Cipher
    tokens: PageTokens
    clock: () => number
    provisional: ProvisionalUsers
    eventOf: EventOf
    revocations: UserRevocations
  },
): AccountStore {
  const { cipher, tokens, clock, provisional, eventOf, revocations } = options
  const { accounts, users } = database.tables
  const sealed = sealedAccounts(cipher)
  const keyOf = ({ tenant }: Caller, { provider, providerAccountId }: AccountKey) => ({
    tenant,
    provider,
    providerAccountId,
  })
  const byKey = (caller: Caller, key: AccountKey) => database.reads(caller).read(accounts.byKey, keyOf(caller, key))
  const nameOf = (caller: Caller, key: AccountKey) => accounts.nameOf(keyOf(caller, key))
  const first = ({ tenant }: Caller, rows: Parameters<typeof accounts.first>[0]): Account | null => {
    const row = accounts.first(rows)
    return row === null ? null : sealed.open(checked(row), tenant)
  }

  const list = listAlong(database, walks.accountsOfUser, {
    alias: "a",
    select: columnsWithTimes(accounts, "a"),
    where: ofPresentUser(":tenant", ":userId"),
  })

  /** A refresh token that is given again may be valid again. A lease stays. */
  const forgetFailure = accounts.statement(
    accounts
      .updateOf(...failureColumns)
      .where(accounts.keyIs())
      .andWhere("refreshHolder IS NULL"),
    ...accounts.key,
    ...failureColumns,
  )

  const { missing } = userChecks(database)
  const removeLeft = leftRows(database, accounts)

  /** Inserts the account; returns null if it is linked already. */
  const insert = async (caller: Caller, account: Account): Promise<Account | null> => {
    // The foreign key locks the user's row.
    const rows = [nameOf(caller, account), users.nameOf({ tenant: caller.tenant, id: account.userId })]
    const now = new Date(clock())
    const row = { ...sealed.seal(account, caller.tenant), created: now, updated: now }
    try {
      const event = eventOf(caller, "account.linked", account)
      await database.write(caller, rows, (sql) =>
        sql.change([...provisional.confirmation(caller, account.userId), accounts.insertion(row), ...event]),
      )
      return account
    } catch (error) {
      if (failsBy(error, "duplicate")) return null
      throw failsBy(error, "no-parent") ? await missing(caller, account.userId) : error
    }
  }

  /** Updates the account if the same user has it; returns null if it is not linked. */
  const update = (caller: Caller, account: Account, etag?: string): Promise<Account | null> =>
    database.write(caller, [nameOf(caller, account)], async (sql) => {
      const row = accounts.first(await sql.read(accounts.byKeyForUpdate, keyOf(caller, account)))
      if (row === null) return null
      if (row.userId !== account.userId) {
        throw new StoreError("ACCOUNT_LINKED_TO_ANOTHER_USER", "the account is linked to another user")
      }
      const stored = sealed.open(row, caller.tenant)
      checkEtag(etag, accountEtag(stored))
      const linked = linkAgain(stored, account)
      checkJsonSize("extra", linked.extra)
      const changed = { ...sealed.seal(linked, caller.tenant), updated: new Date(clock()) }
      await sql.write(accounts.update, changed, eventOf(caller, "account.updated", linked))
      if (account.refresh_token !== undefined) await sql.write(forgetFailure, { ...keyOf(caller, account) })
      return linked
    })

  return {
    async link(caller, given, { etag } = {}) {
      const account = {
        ...given,
        token_type: given.token_type?.toLowerCase(),
        expires_in: plainZero(given.expires_in),
        expires_at: plainZero(given.expires_at),
      }
      checkJsonSize("extra", account.extra)
      checkJsonSize("authorization_details", account.authorization_details)
      if (etag !== undefined) {
        const linked = await update(caller, account, etag)
        if (linked === null) throw staleEtag()
        return linked
      }
      // A concurrent link or unlink can make either attempt fail; then the other one is tried. Both fail if the account
      // is one of a user that is being deleted.
      for (;;) {
        const linked = (await insert(caller, account)) ?? (await update(caller, account))
        if (linked !== null) return linked
        await removeLeft(caller, keyOf(caller, account))
      }
    },

    async unlink(caller, key, options) {
      const linked = options?.revokeSessions ? accounts.first(await byKey(caller, key)) : null
      const revoked = linked === null ? 0 : await revocations.revokeMost(caller, linked.userId)
      return database.write(caller, [nameOf(caller, key)], async (sql) => {
        const account = first(caller, await sql.read(accounts.byKeyForUpdate, keyOf(caller, key)))
        if (account === null) return null
        await sql.write(accounts.delete, keyOf(caller, key), eventOf(caller, "account.unlinked", account))
        if (!options?.revokeSessions) return account
        const others = await revocations.revokeRest(sql, caller, account.userId)
        return { ...account, revokedSessions: revoked + others }
      })
    },

    get: async (caller, key) => first(caller, await byKey(caller, key)),

    async listByUser(caller, userId, page, options) {
      const { tenant } = caller
      const shown = (row: Account) => (options.tokens ? sealed.open(row, tenant) : sealed.withoutSealed(row))
      // A token that was replaced a moment ago would be useless, so a list with tokens is read from the writer.
      const reads = options.tokens ? database.reads(caller) : database.olderReads(caller)
      return list(page, {
        tokens,
        name: ["accounts", tenant, userId],
        first: { provider: "", providerAccountId: "" },
        values: { of: { tenant, userId } },
        itemOf: (cells): ListedAccount => ({ ...shown(checked(accounts.row(cells))), ...timesOf(accounts, cells) }),
        reads,
        signal: caller.signal,
      })
    },
  }
}

/** Throws UnreadableRow for an account that no answer can carry. An import reads it as well, and names the rule that it breaks. */
function checked(row: Account): Account {
  if (isListOfObjects(row.authorization_details ?? [])) return row
  const place = { table: "accounts", column: "authorization_details", id: row.userId }
  throw new UnreadableRow(place, "must be a JSON array of objects")
}

/**
 * Replaces the stored fields with the given ones. A field that is null in `extra` is cleared. What describes the access
 * token is replaced with it, also by nothing.
 */
function linkAgain(stored: Account, given: Account): Account {
  const extra = mergeExtra(stored.extra, given.extra)
  const account: Account = { ...stored, type: given.type, extra }
  const replace = <Field extends keyof Account>(field: Field) => {
    account[field] = given[field]
  }
  const replaced: ReadonlySet<string> = new Set(given.access_token === undefined ? [] : tokenFields)
  for (const field of nullableFields) {
    const value = given[field]
    if (value !== undefined || given.extra[field] === null || replaced.has(field)) replace(field)
    if (value !== undefined || (replaced.has(field) && given.extra[field] === undefined)) delete extra[field]
  }
  return account
}
