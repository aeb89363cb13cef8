import { randomBytes } from "node:crypto"
import { createCipher } from "../../store/sql/index.js"
import type { Extra } from "../../store/types.js"
import { digestOf } from "../item.js"
import { openTemporary, temporarily } from "../temporary.js"

/** An account that becomes a property of its user. */
export interface AccountOfUser {
  userId: string
  /** Whether it is a further property or a private one. */
  where: "keep" | "private"
  /** The name of the property: the type of the account. Its value is the list of all such accounts of the user. */
  property: string
  values: Extra
}

/** The properties that accounts have become. */
export type PropertiesOfUser = Readonly<Record<AccountOfUser["where"], Record<string, Extra[]>>>

export interface SetAside {
  of(userId: string): PropertiesOfUser
  close(): void
}

/**
 * Keeps accounts that become properties of their users in a temporary file, because there may be as many as users. They are
 * sealed with a key that only this process has: most have the hash of a password. Throws StartError.
 */
export async function setAside(accounts: AsyncIterable<AccountOfUser>): Promise<SetAside> {
  const database = openTemporary()
  const cipher = createCipher([randomBytes(32)])
  database.exec("CREATE TABLE accounts (user INTEGER, sealed TEXT)")
  const insert = database.prepare("INSERT INTO accounts VALUES (?, ?)")
  for await (const { userId, ...account } of accounts) {
    temporarily(() => insert.run(digestOf(userId), cipher.seal(JSON.stringify(account), [userId])))
  }
  temporarily(() => database.exec("CREATE INDEX accounts_user ON accounts (user)"))
  const select = database.prepare("SELECT sealed FROM accounts WHERE user = ? ORDER BY rowid")
  return {
    of(userId) {
      const properties: PropertiesOfUser = { keep: {}, private: {} }
      for (const { sealed } of temporarily(() => select.all(digestOf(userId)))) {
        const { where, property, values } = JSON.parse(cipher.open(String(sealed), [userId])) as AccountOfUser
        properties[where][property] ??= []
        properties[where][property].push(values)
      }
      return properties
    },
    close: () => database.close(),
  }
}
