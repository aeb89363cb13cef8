import { StartError } from "../../errors/start-error.js"
import type { BulkName } from "../../store/sql/index.js"
import type { Mapping } from "./mapping.js"

/** What an import does with columns that the contract does not define: the words of the mapping file. */
export const decisions = ["keep", "private", "ignore"] as const

export type Decision = (typeof decisions)[number]

/**
 * Without a word in the mapping, what happens to a column whose name looks like a secret. The `extra` of accounts is
 * encrypted, and returned only with the provider's tokens. Sessions and authenticators have no private properties.
 */
const ofSecrets: Readonly<Record<BulkName, Decision>> = {
  users: "private",
  accounts: "keep",
  sessions: "ignore",
  verificationTokens: "ignore",
  authenticators: "ignore",
}

/** Names of secrets, as a part of a name that is in lower case and without separators. */
const secretParts =
  /passw|passphrase|passcode|passkey|pwd|hash|salt|secret|token|totp|twofactor|credential|recovery|socialsecurity|(backup|verification|reset|security)(code|answer)|(api|private|master|encryption|signing|access)key/

/** Short names of secrets, as a word, or where a word may begin or end in a name whose words cannot be told apart. */
const secretWords = /^(pass|pw|pin)$|^(otp|mfa|2fa|ssn)|(otp|mfa|2fa|ssn|pin)$/

/** Whether the name of a column looks like that of a secret. A wrong yes is noticed; a wrong no may publish a secret. */
export function looksSecret(name: string): boolean {
  const words = name.replaceAll(/([a-z\d])([A-Z])/g, "$1 $2").toLowerCase()
  const plain = words.replaceAll(/[^a-z\d]/g, "")
  return secretParts.test(plain) || words.split(/[^a-z\d]+/).some((word) => secretWords.test(word))
}

/** Returns the words of the mapping for columns of a table. Throws StartError if a column has two. */
export function wordsOf(table: BulkName, mapping: Mapping): ReadonlyMap<string, Decision> {
  const words = new Map<string, Decision>()
  for (const decision of decisions) {
    const lists: Partial<Record<BulkName, string[] | undefined>> = mapping[decision]
    for (const column of lists[table] ?? []) {
      const other = words.get(column)
      if (other !== undefined && other !== decision)
        throw new StartError(`--mapping: ${decision}.${table}: ${column} is in ${other} too`)
      words.set(column, decision)
    }
  }
  return words
}

/** Returns what happens to a column for which the mapping has no word. */
export function defaultFor(table: BulkName, column: string): Decision {
  if (table === "verificationTokens") return "ignore"
  return looksSecret(column) ? ofSecrets[table] : "keep"
}
