import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { cpus, release, totalmem } from "node:os"
import { fileURLToPath } from "node:url"
import type { MysqlServer } from "./data/mysql-server.ts"

/** The environment of a result that does not depend on a database. */
export interface MachineFacts {
  date: string
  commit: string
  cpu: string
  cores: number
  memoryGib: number
  kernel: string
  node: string
}

/** The environment of a result. */
export interface Facts extends MachineFacts {
  mysql: string
  /** The settings of MySQL that affect performance. */
  settings: Record<string, string>
  /** The versions of the measured packages. */
  versions: Record<string, string>
}

const { dependencies } = JSON.parse(readFileSync(new URL("./package.json", import.meta.url), "utf8"))

/** The versions of the measured packages and their dependencies, which bench/package.json pins exactly. */
export const versions: Record<string, string> = Object.fromEntries(
  Object.entries<string>(dependencies).filter(([, version]) => /^\d/.test(version)),
)

export function readFacts(mysql: MysqlServer): Facts {
  return {
    ...readMachineFacts(),
    mysql: mysql.version,
    settings: mysql.settings,
    versions,
  }
}

export function readMachineFacts(): MachineFacts {
  return {
    date: new Date().toISOString().slice(0, 16).concat("Z"),
    commit: commit(),
    cpu: cpus()[0]?.model.trim() ?? "",
    cores: cpus().length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.versions.node,
  }
}

function commit(): string {
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: fileURLToPath(new URL(".", import.meta.url)), encoding: "utf8" }).trim()
  try {
    // Changed results do not affect the measurement, so they do not count as changes.
    const changed = git("status", "--porcelain", "--", "../client", "../server", "../gen", "../token") !== ""
    return git("rev-parse", "--short", "HEAD") + (changed ? " with changes" : "")
  } catch {
    return ""
  }
}
