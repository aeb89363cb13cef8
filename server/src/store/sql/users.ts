import { StoreError } from "../error.js"
import type { Caller, UserStore } from "../store.js"
import type { User, UserPatch } from "../types.js"
import type { Database } from "./database.js"
import { emailKey } from "./email-key.js"
import type { UserRow } from "./entities.js"
import { checkJsonSize, mergeExtra } from "./extra.js"
import { sharedLookup } from "./shared-lookup.js"
import { failsBy } from "./statement-error.js"
import { type Cell, textOf } from "./table.js"

export function userStore(database: Database): UserStore {
  const { users, accounts } = database.tables
  const columns = users.columns("u")
  const selectUser = `SELECT ${columns} FROM users u`
  const userById = `${selectUser} WHERE ${users.keyIs}`
  const userByEmail = `${selectUser} WHERE u.tenant = ? AND u.email_key = ?`
  const emailCells = (row: Pick<UserRow, "tenant" | "emailKey">) => [
    users.cell("tenant", row.tenant),
    users.cell("emailKey", row.emailKey),
  ]
  /** Another writer of the same address is waited for as one of the same row is. */
  const emailNames = (row: Pick<UserRow, "tenant" | "emailKey">) =>
    row.emailKey === undefined ? [] : [`users_email_key ${textOf(emailCells(row))}`]
  const ofTenant = "FROM users u WHERE u.tenant = ?"
  const byId = sharedLookup(database, { columns, from: ofTenant, key: ["u.id"] })
  const byEmail = sharedLookup(database, { columns, from: ofTenant, key: ["u.email_key"] })
  const byAccount = sharedLookup(database, {
    columns,
    from: "FROM accounts a JOIN users u ON u.tenant = a.tenant AND u.id = a.user_id WHERE a.tenant = ?",
    key: ["a.provider", "a.provider_account_id"],
  })
  const first = (cells: Cell[] | undefined) => (cells === undefined ? null : users.row(cells))
  const ofUser = "WHERE tenant = ? AND user_id = ?"

  return {
    async create(caller, user) {
      checkJsonSize("extra", user.extra)
      const row = rowOf(caller, user)
      return database.writes(caller, [users.nameOf(row), ...emailNames(row)], async (sql) => {
        for (;;) {
          try {
            await sql.write(users.insert, users.insertCells(row))
            return user
          } catch (error) {
            if (!failsBy(error, "duplicate")) throw error
          }
          // Which of the two it was says only the text of the error. If both have gone meanwhile, there is room now.
          const sameId = await sql.read(userById, users.keyCells(row))
          if (sameId.length > 0) throw new StoreError("USER_ALREADY_EXISTS", "the user id is taken")
          const sameEmail = await sql.read(userByEmail, emailCells(row))
          if (sameEmail.length > 0) throw emailAlreadyExists()
        }
      })
    },

    async get(caller, id) {
      return first(await byId(caller, [users.cell("id", id)]))
    },

    async getByEmail(caller, email) {
      const key = emailKey(email)
      if (key === undefined) return null
      return first(await byEmail(caller, [users.cell("emailKey", key)]))
    },

    async getByAccount(caller, { provider, providerAccountId }) {
      const key = [accounts.cell("provider", provider), accounts.cell("providerAccountId", providerAccountId)]
      return first(await byAccount(caller, key))
    },

    update(caller, id, patch) {
      const { tenant } = caller
      const key = { tenant, id }
      const address = { tenant, emailKey: emailKey(patch.email ?? undefined) }
      return database.transaction(caller, [users.nameOf(key), ...emailNames(address)], async (sql) => {
        const user = users.first(await sql.read(userById + database.forUpdate, users.keyCells(key)))
        if (user === null) return null
        const changed = applyPatch(user, patch)
        checkJsonSize("extra", changed.extra)
        try {
          await sql.write(users.update, users.updateCells(rowOf(caller, changed)))
        } catch (error) {
          throw failsBy(error, "duplicate") ? emailAlreadyExists() : error
        }
        return changed
      })
    },

    delete: (caller, id) =>
      database.transaction(caller, [users.nameOf({ tenant: caller.tenant, id })], async (sql) => {
        const key = users.keyCells({ tenant: caller.tenant, id })
        // The lock keeps others from giving the user a new session, account or authenticator: to insert one, they need
        // a shared lock on this row for its foreign key.
        const user = users.first(await sql.read(userById + database.forUpdate, key))
        if (user === null) return null
        await sql.write(`DELETE FROM sessions ${ofUser}`, key)
        await sql.write(`DELETE FROM accounts ${ofUser}`, key)
        await sql.write(`DELETE FROM authenticators ${ofUser}`, key)
        await sql.write(`DELETE FROM users WHERE ${users.keyIs}`, key)
        return user
      }),
  }
}

function rowOf({ tenant }: Caller, user: User): UserRow {
  return { ...user, tenant, emailKey: emailKey(user.email) }
}

/** A field that is cleared stands in `extra` as null, so that it reads back as null and not as absent. */
function applyPatch(user: User, patch: UserPatch): User {
  const extra = mergeExtra(user.extra, patch.extra)
  const changed: User = { ...user, extra }
  for (const field of ["email", "name", "image"] as const) {
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
