import { execFile } from "node:child_process"
import { rmSync } from "node:fs"
import { setTimeout as delay } from "node:timers/promises"
import { promisify } from "node:util"
import { createRunFolder, createServerProcess, type ServerEngine } from "@authwire/test-support/databases/servers.js"
import { connectTo, type Rows } from "./rows.ts"

const execute = promisify(execFile)

const maxJoinMs = 120_000

export type Action = "kill" | "stop" | "rejoin" | "pause" | "resume"

/** A database server, or the members of a cluster, that can be killed, stopped, frozen and started again. */
export interface Database {
  /** The URL that the service uses. */
  readonly url: string
  /** The URLs of the members. */
  readonly urls: readonly string[]
  /** Returns the number of the member at HOST:PORT, counted from 1. */
  numberOf(member: string | undefined): number
  /** Runs an action. After "rejoin" it resolves when the member has joined its cluster again. */
  run(action: Action, member: number): Promise<void>
  /**
   * Resolves with the time at which another member than the given one is the primary of the group; NaN if there is no
   * group.
   */
  electedBeside(member: number, signal: AbortSignal): Promise<number>
  /**
   * Makes a member the primary of its group, as before a planned stop. Returns false without a single-primary group.
   */
  makePrimary(member: number): Promise<boolean>
  close(): Promise<void>
}

/** Returns the members of a running cluster at the hosts of a URL. A command kills, stops and starts them. */
export function clusterAt(url: string, command: string): Database {
  const [, before, hosts = "", after] = /^(mysql:\/\/(?:[^/]*@)?)([^/]*)(\/.*)$/.exec(url) ?? []
  const names = hosts.split(",")
  const urls = names.map((host) => `${before}${host}${after}`)

  return {
    url,
    urls,
    numberOf: (member) => Math.max(0, names.indexOf(member ?? "")) + 1,

    /** Retries, because a group does not accept a member before it has noticed that the member was gone. */
    async run(action, member) {
      const [program = "", ...args] = command.replace("{action}", action).replace("{n}", String(member)).split(" ")
      for (let tries = 1; ; tries++) {
        try {
          await execute(program, args, { timeout: 120_000 })
          break
        } catch (error) {
          if (tries === 10) throw error
          await delay(1000)
        }
      }
      if (action === "rejoin") await isOnline(urls[member - 1] as string)
    },

    async electedBeside(member, signal) {
      const connections: Rows[] = []
      try {
        for (const [index, one] of urls.entries()) if (index + 1 !== member) connections.push(await connectTo(one))
        while (!signal.aborted) {
          for (const connection of connections) {
            const [[port] = []] = await connection.read(
              `SELECT member_port FROM performance_schema.replication_group_members
                WHERE member_state = 'ONLINE' AND member_role = 'PRIMARY'`,
            )
            if (port !== undefined && !names[member - 1]?.endsWith(`:${port}`)) return Date.now()
          }
          await delay(20, undefined, { signal }).catch(() => {})
        }
        return Number.NaN
      } finally {
        for (const connection of connections) connection.close()
      }
    },

    async makePrimary(member) {
      const connection = await connectTo(urls[member - 1] as string)
      try {
        const [[, mode] = []] = await connection.read("SHOW VARIABLES LIKE 'group_replication_single_primary_mode'")
        if (mode !== "ON") return false
        await connection.read("SELECT group_replication_set_as_primary(@@server_uuid)")
        return true
      } finally {
        connection.close()
      }
    },

    close: async () => {},
  }
}

/** Resolves when a member of a group has caught up with the others. Resolves at once if there is no group. */
async function isOnline(url: string): Promise<void> {
  const connection = await connectTo(url)
  try {
    const [[, group] = []] = await connection.read("SHOW VARIABLES LIKE 'group_replication_group_name'")
    if (!group) return
    const state = async () => {
      const [[state] = []] = await connection.read(
        `SELECT member_state FROM performance_schema.replication_group_members WHERE member_id = @@server_uuid`,
      )
      return state
    }
    const end = Date.now() + maxJoinMs
    while (["RECOVERING", "OFFLINE"].includes(String(await state())) && Date.now() < end) await delay(100)
  } finally {
    connection.close()
  }
}

/** Starts a server for this run. */
export async function ownServer(engine: ServerEngine): Promise<Database> {
  const folder = createRunFolder()
  const server = await createServerProcess(engine, folder)
  let { url } = server
  if (engine !== "postgres") {
    const connection = await connectTo(url)
    await connection.read("CREATE DATABASE test")
    connection.close()
    url += "test"
  }
  return {
    url,
    urls: [url],
    numberOf: () => 1,
    async run(action) {
      if (action === "kill") return server.kill()
      if (action === "rejoin") return server.start()
      throw new Error(`a server of its own cannot ${action}`)
    },
    electedBeside: async () => Number.NaN,
    makePrimary: async () => false,
    async close() {
      await server.remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
