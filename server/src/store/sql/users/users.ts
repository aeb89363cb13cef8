import { StoreError } from "../../../errors/store-error.js"
import { turnByBytes } from "../../../util/turn-limit.js"
import { checkEtag, userEtag } from "../../etag.js"
import type { Caller, UserStore } from "../../store.js"
import type { ListedUser, User, UserPatch } from "../../types.js"
import type { Cipher } from "../cipher.js"
import type { Database } from "../database.js"
import type { EventOf } from "../events/event-rows.js"
import { sharedLookup } from "../query/batched-lookup.js"
import { type Cell, textOf } from "../query/statement.js"
import { failsBy } from "../query/statement-error.js"
import { checkJsonSize, mergeExtra } from "../schema/extra.js"
import { tenantNotFound } from "../schema/present-tenants.js"
import type { UserRow } from "../schema/rows.js"
import { maxPageBytes } from "../walks/list.js"
import type { PageTokens } from "../walks/page-tokens.js"
import { largeRows, largeRowsPerStatement, rowsPerStatement } from "../walks/rows-at-once.js"
import { privateExtra } from "./private-extra.js"
import type { ProvisionalUsers } from "./provisional-users.js"
import { emailKey, nameKey } from "./text-keys.js"
import { userDeletion } from "./user-deletions.js"
import { userDisabling } from "./user-disabling.js"
import { userLists } from "./user-lists.js"
import { userReader } from "./user-reader.js"
import type { UserRevocations } from "./user-revocations.js"

export function userStore(
  database: Database,
  options: {
    cipher: Cipher
    tokens: PageTokens
    clock: () => number
    provisional: ProvisionalUsers
    eventOf: EventOf
    revocations: UserRevocations
  },
): UserStore {
  const { cipher, tokens, clock, provisional, eventOf, revocations } = options
  const { users, accounts } = database.tables
  const reader = userReader(database, clock)
  const columns = reader.columns("u")
  const userByEmail = users.statement(
    users.selectFrom("u").where("u.tenant = :tenant AND u.emailKey = :emailKey"),
    "tenant",
    "emailKey",
  )
  /** The lock name of an address, so that writers of the same address take turns like writers of the same row. */
  const emailNames = (row: Pick<UserRow, "tenant" | "emailKey">) =>
    row.emailKey === undefined ? [] : [`users_email_key ${textOf(userByEmail.cells(row))}`]
  const from = () => users.selectFrom("u")
  const byId = sharedLookup(database, { from, columns, alias: "u", key: ["id"] })
  const large = largeRows()
  const sizeById = sharedLookup(database, { from, columns: users.bytes("u"), alias: "u", key: ["id"] })
  const listedById = sharedLookup(database, { from, columns: reader.listedColumns("u"), alias: "u", key: ["id"] })
  const columnsOfHolder = `${columns}, u.provisionalUntil`
  const byEmail = sharedLookup(database, { from, columns: columnsOfHolder, alias: "u", key: ["emailKey"] })
  const byAccount = sharedLookup(database, {
    from: () => accounts.selectFrom("a").innerJoin(users.entity, "u", "u.tenant = a.tenant AND u.id = a.userId"),
    columns,
    alias: "a",
    key: ["provider", "providerAccountId"],
  })
  const withTimes = users.statement(
    users.selectFrom("u").select(reader.listedColumns("u")).where(users.keyIs("u")),
    ...users.key,
  )
  const privateById = users.statement(
    users.selectFrom("u").select("u.privateExtra").where(users.keyIs("u")),
    ...users.key,
  )
  const first = (cells: Cell[] | undefined) => (cells === undefined ? null : reader.user(cells))
  /** Selects the user with the id, also while it is being deleted. */
  const withId = users.statement(users.selectFrom("u").withDeleted().where(users.keyIs("u")), ...users.key)

  /** Revokes most sessions of a user if it has many and this patch changes its address. Returns their number. */
  async function revokeMostOf(caller: Caller, id: string, { email }: UserPatch, etag?: string): Promise<number> {
    if (email === undefined) return 0
    const user = first(await byId(caller, [users.cell("id", id)]))
    const key = emailKey(email ?? undefined)
    if (user === null || key === emailKey(user.email)) return 0
    checkEtag(etag, userEtag(user))
    // The update is going to fail.
    if (key !== undefined && (await byEmail(caller, [users.cell("emailKey", key)])) !== undefined) return 0
    return revocations.revokeMost(caller, id)
  }

  return {
    ...userLists(database, { tokens, reader }),
    ...userDisabling(database, { clock, reader, eventOf, revocations }),
    delete: userDeletion(database, { clock, reader, eventOf }),

    async create(caller, user, options) {
      checkJsonSize("extra", user.extra)
      const now = new Date(clock())
      const given = { ...rowOf(caller, user), created: now, updated: now }
      const row = { ...given, provisionalUntil: provisional.until(given, options?.provisional) }
      const rows = [users.nameOf(row), ...emailNames(row)]
      const holder = await database.write(caller, rows, async (sql) => {
        for (;;) {
          try {
            await sql.change([users.insertion(row), ...eventOf(caller, "user.created", { userId: row.id })])
            return null
          } catch (error) {
            if (!failsBy(error, "duplicate")) throw tenantNotFound(error)
          }
          // Only the text of the error says which of the two keys collided. If both rows are gone meanwhile, the insert
          // is retried.
          const sameId = await sql.read(withId, row)
          if (sameId.length > 0) throw new StoreError("USER_ALREADY_EXISTS", "the user id is taken")
          const sameEmail = users.first(await sql.read(userByEmail, row))
          if (sameEmail !== null) return sameEmail
        }
      })
      if (holder === null || (await provisional.replace(caller, holder.id, row, rows))) return user
      throw emailAlreadyExists()
    },

    async get(caller, id) {
      return first(await byId(caller, [users.cell("id", id)]))
    },

    async getWithTimes(caller, id) {
      const [cells] = await database.reads(caller).read(withTimes, { tenant: caller.tenant, id })
      return cells === undefined ? null : reader.listed(cells)
    },

    async getMany(caller, ids) {
      const found: (ListedUser | null)[] = []
      const turnFor = turnByBytes(database.readTurn, caller.tenant, caller.signal)
      let bytes = 0
      while (found.length < ids.length) {
        const most = large.has(caller.tenant) ? largeRowsPerStatement : rowsPerStatement
        const some = ids.slice(found.length, found.length + most).map((id) => [users.cell("id", id)])
        const sizes = (await Promise.all(some.map((key) => sizeById(caller, key)))).map((size) =>
          Number(size?.[0] ?? 0),
        )
        const fitting: Cell[][] = []
        for (const size of sizes) {
          bytes += size
          if (found.length + fitting.length > 0 && bytes > maxPageBytes) break
          fitting.push(some[fitting.length] as Cell[])
        }
        for (const [index, cells] of (await Promise.all(fitting.map((key) => listedById(caller, key)))).entries()) {
          await turnFor(sizes[index] ?? 0)
          found.push(cells === undefined ? null : reader.listed(cells))
        }
        const isFull = fitting.length < some.length
        large.found(caller.tenant, found.length, isFull)
        if (isFull) break
      }
      return found
    },

    async getByEmail(caller, email) {
      const key = emailKey(email)
      if (key === undefined) return null
      /** The id of a user that was provisional when it was read, and is not replaceable any more. */
      let checked: string | undefined
      for (;;) {
        const cells = await byEmail(caller, [users.cell("emailKey", key)])
        if (cells === undefined) return null
        const holder = reader.user(cells)
        const until = users.value("provisionalUntil", cells[reader.width] as Cell)
        if (!provisional.mayBe(until) || holder.id === checked) return holder
        if (await provisional.isReplaceable(caller, holder.id)) return null
        // Either the user holds the address for good now, or another one has replaced it in between.
        checked = holder.id
      }
    },

    async getByAccount(caller, { provider, providerAccountId }) {
      const key = [accounts.cell("provider", provider), accounts.cell("providerAccountId", providerAccountId)]
      return first(await byAccount(caller, key))
    },

    async getPrivateExtra(caller, id) {
      const key = { tenant: caller.tenant, id }
      const [cells] = await database.reads(caller).read(privateById, key)
      if (cells === undefined) return null
      const sealed = users.value("privateExtra", cells[0] as Cell)
      return JSON.parse(privateExtra(cipher).open({ ...key, privateExtra: sealed }) ?? "{}")
    },

    async update(caller, id, patch, options) {
      const { tenant } = caller
      const key = { tenant, id }
      const isLong = options?.revokeSessionsOnEmailChange === true
      const address = { tenant, emailKey: emailKey(patch.email ?? undefined) }
      const revoked = isLong ? await revokeMostOf(caller, id, patch, options.etag) : 0
      return database.write(caller, [users.nameOf(key), ...emailNames(address)], async (sql) => {
        const user = reader.first(await sql.read(reader.byKeyForUpdate, key))
        if (user === null) return null
        checkEtag(options?.etag, userEtag(user))
        const changed = applyPatch(user, patch)
        checkJsonSize("extra", changed.extra)
        try {
          const row = { ...rowOf(caller, changed), updated: new Date(clock()) }
          await sql.write(users.update, row, eventOf(caller, "user.updated", { userId: id }))
        } catch (error) {
          throw failsBy(error, "duplicate") ? emailAlreadyExists() : error
        }
        const isSameAddress = emailKey(changed.email) === emailKey(user.email)
        if (!isLong || isSameAddress) return changed
        // To create a session, another transaction needs a shared lock on the user's row.
        return { ...changed, revokedSessions: revoked + (await revocations.revokeRest(sql, caller, id)) }
      })
    },
  }
}

function rowOf({ tenant }: Caller, user: User): UserRow {
  return { ...user, tenant, emailKey: emailKey(user.email), nameKey: nameKey(user.name) }
}

type TextField = Exclude<keyof UserPatch, "emailVerified" | "extra">

/** The text fields of a patch. The compiler reports a missing one. */
const isText: Record<TextField, true> = { email: true, name: true, image: true }
const textFields = Object.keys(isText) as TextField[]

/** Applies a patch. A cleared field is stored as null in `extra`, so that it reads back as null and not as absent. */
function applyPatch(user: User, patch: UserPatch): User {
  const extra = mergeExtra(user.extra, patch.extra)
  const changed: User = { ...user, extra }
  for (const field of textFields) {
    const value = patch[field]
    if (value === undefined) continue
    changed[field] = value ?? undefined
    if (value === null) extra[field] = null
    else delete extra[field]
  }
  if (patch.emailVerified !== undefined) changed.emailVerified = patch.emailVerified ?? undefined
  return changed
}

function emailAlreadyExists(): StoreError {
  return new StoreError("EMAIL_ALREADY_EXISTS", "another user has the e-mail address")
}
