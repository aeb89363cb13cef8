import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import { promisify } from "node:util"
import { type Connection, createConnection, type RowDataPacket } from "mysql2/promise"
import type { SignIn } from "./caller.ts"

const execute = promisify(execFile)

/** A database, or the members of a cluster, that a command kills, stops and starts again. */
export interface Members {
  readonly count: number
  /** The member at HOST:PORT, from 1. */
  numberOf(member: string | undefined): number
  run(action: "kill" | "stop" | "rejoin", member: number): Promise<void>
  /** Resolves when another member than the given one is the primary of the group, with the time; else never. */
  electedBeside(member: number, signal: AbortSignal): Promise<number>
  /** What each member has of the sign-ins that were acknowledged, as sentences; none when all is well. */
  compare(signIns: readonly SignIn[]): Promise<string[]>
}

export function members(urls: readonly string[], command: string): Members {
  const hosts = urls.map((url) => new URL(url).host)

  /** Tried again: a group takes nobody back before it has noticed that he is gone. */
  async function run(action: string, member: number): Promise<void> {
    const [program = "", ...args] = command.replace("{action}", action).replace("{n}", String(member)).split(" ")
    for (let tries = 1; ; tries++) {
      try {
        await execute(program, args, { timeout: 120_000 })
        return
      } catch (error) {
        if (tries === 10) throw error
        await delay(1000)
      }
    }
  }

  async function compareOn(connection: Connection, host: string, signIns: readonly SignIn[]): Promise<string[]> {
    const [users] = await connection.query<RowDataPacket[]>("SELECT CAST(id AS CHAR) AS id FROM users")
    const [accounts] = await connection.query<RowDataPacket[]>(
      "SELECT CAST(provider_account_id AS CHAR) AS id, CAST(user_id AS CHAR) AS user FROM accounts",
    )
    const [sessions] = await connection.query<RowDataPacket[]>(
      "SELECT HEX(token_hash) AS id, CAST(user_id AS CHAR) AS user FROM sessions",
    )
    const userIds = new Set(users.map(({ id }) => id))
    const owners = (rows: RowDataPacket[]) => new Map(rows.map(({ id, user }) => [id, user]))
    const [linked, signedIn] = [owners(accounts), owners(sessions)]
    const hashOf = (token: string) => createHash("sha256").update(token).digest("hex").toUpperCase()
    const lost = {
      users: signIns.filter(({ userId }) => !userIds.has(userId)).length,
      accounts: signIns.filter(({ userId, providerAccountId }) => linked.get(providerAccountId) !== userId).length,
      sessions: signIns.filter(({ userId, sessionToken }) => signedIn.get(hashOf(sessionToken)) !== userId).length,
    }
    const there = { users: users.length, accounts: accounts.length, sessions: sessions.length }
    return (["users", "accounts", "sessions"] as const).flatMap((table) => [
      ...(lost[table] === 0 ? [] : [`${host}: ${lost[table]} ${table} are lost`]),
      ...(there[table] === signIns.length ? [] : [`${host}: ${there[table]} ${table} of ${signIns.length} sign-ins`]),
    ])
  }

  return {
    count: urls.length,
    numberOf: (member) => Math.max(0, hosts.indexOf(member ?? "")) + 1,
    run,
    async electedBeside(member, signal) {
      const others = urls.filter((_, index) => index + 1 !== member)
      const connections = await Promise.all(others.map((url) => createConnection(url)))
      try {
        while (!signal.aborted) {
          for (const connection of connections) {
            const [rows] = await connection.query<RowDataPacket[]>(
              `SELECT member_port AS port FROM performance_schema.replication_group_members
                WHERE member_state = 'ONLINE' AND member_role = 'PRIMARY'`,
            )
            const [row] = rows
            if (row !== undefined && !hosts[member - 1]?.endsWith(`:${row.port}`)) return Date.now()
          }
          await delay(20, undefined, { signal }).catch(() => {})
        }
        return Number.NaN
      } finally {
        for (const connection of connections) connection.destroy()
      }
    },
    async compare(signIns) {
      const found: string[] = []
      for (const url of urls) {
        const connection = await createConnection(url)
        found.push(...(await compareOn(connection, new URL(url).host, signIns)))
        await connection.end()
      }
      return found
    },
  }
}
