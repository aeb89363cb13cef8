import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

export const adapters = ["prisma", "drizzle", "typeorm", "kysely", "sequelize", "pg", "jsonl"] as const

export type AdapterName = (typeof adapters)[number]

type Json = Record<string, unknown>

/** The rows that an adapter wrote, as it returned them. Dates are text. */
export interface Written {
  users: (Json & { id: string })[]
  byEmail: { email: string; user: Json }[]
  byAccount: { key: { provider: string; providerAccountId: string }; user: Json }[]
  accounts: { key: { provider: string; providerAccountId: string }; account: Json }[]
  sessions: { sessionToken: string; sessionAndUser: { session: Json; user: Json } }[]
  tokens: { identifier: string; token: string; expires: string }[]
  authenticators: { userId: string; all: Json[] }[]
}

/** The folder in which the adapters are installed. */
const folder = fileURLToPath(new URL("fixtures", import.meta.url))

/** Whether the adapters are installed. Their packages are not among those of the workspaces. */
export function hasAdapters(): boolean {
  return (
    existsSync(`${folder}/node_modules/.package-lock.json`) &&
    existsSync(`${folder}/node_modules/.generated/mysql/index.js`)
  )
}

/** Makes an adapter write into an empty database, in its own version and with its own driver. */
export async function writeBy(adapter: AdapterName, url: string): Promise<Written> {
  const engine = /^\w+/.exec(url)?.[0].replace("postgresql", "postgres") ?? ""
  const { stdout } = await promisify(execFile)(process.execPath, [`${folder}/write.js`, adapter, engine, url], {
    env: { ...process.env, NODE_OPTIONS: "" },
    maxBuffer: 16 * 1024 * 1024,
  })
  return JSON.parse(stdout) as Written
}

/** What an application wrote: who its users are, when each was created, and their sessions. */
export interface Application {
  users: { id: string; email: string; created: string }[]
  sessions: { sessionToken: string; userId: string }[]
}

/** Makes an application create its tables in an empty database, and people sign in there. */
export async function applicationOf(name: string, url: string): Promise<Application> {
  const { stdout } = await promisify(execFile)(process.execPath, [`${folder}/applications/write.js`, name, url], {
    env: { ...process.env, NODE_OPTIONS: "" },
  })
  return JSON.parse(stdout) as Application
}
