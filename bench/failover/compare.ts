import { createHash } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import type { SignIn } from "./caller.ts"
import { connectTo } from "./rows.ts"

/** The longest time that a member which returned last may take to catch up with the others. */
const maxCatchUpMs = 60_000

/**
 * Compares the database at a URL with the acknowledged sign-ins. Returns the problems as sentences; none if nothing is
 * lost and nothing exists twice.
 *
 * @param writes The number of acknowledged writes. Each had its own idempotency key.
 */
export async function compare(url: string, signIns: readonly SignIn[], writes: number): Promise<string[]> {
  const end = Date.now() + maxCatchUpMs
  for (;;) {
    const problems = await compareOnce(url, signIns, writes).catch((error) => [String(error)])
    if (problems.length === 0 || Date.now() > end) return problems.map((one) => `${new URL(url).host}: ${one}`)
    await delay(1000)
  }
}

async function compareOnce(url: string, signIns: readonly SignIn[], writes: number): Promise<string[]> {
  const connection = await connectTo(url)
  try {
    const users = new Set((await connection.read("SELECT id FROM users")).map(([id]) => String(id)))
    const accounts = await connection.read("SELECT provider_account_id, user_id FROM accounts")
    const sessions = await connection.read("SELECT token_hash, user_id FROM sessions")
    const keys = await connection.read("SELECT key_hash FROM idempotency_keys")
    const linked = new Map(accounts.map(([id, user]) => [String(id), String(user)]))
    const signedIn = new Map(sessions.map(([hash, user]) => [(hash as Buffer).toString("hex"), String(user)]))
    const hashOf = (token: string) => createHash("sha256").update(token).digest("hex")
    const lost = {
      users: signIns.filter(({ userId }) => !users.has(userId)).length,
      accounts: signIns.filter(({ userId, providerAccountId }) => linked.get(providerAccountId) !== userId).length,
      sessions: signIns.filter(({ userId, sessionToken }) => signedIn.get(hashOf(sessionToken)) !== userId).length,
    }
    const there = { users: users.size, accounts: accounts.length, sessions: sessions.length }
    return [
      ...Object.entries(lost).flatMap(([table, count]) => (count === 0 ? [] : [`${count} ${table} are lost`])),
      ...Object.entries(there).flatMap(([table, count]) =>
        count === signIns.length ? [] : [`${count} ${table} of ${signIns.length} sign-ins`],
      ),
      ...(keys.length === writes ? [] : [`${keys.length} idempotency keys of ${writes} acknowledged writes`]),
    ]
  } finally {
    connection.close()
  }
}
