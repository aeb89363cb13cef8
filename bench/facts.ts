import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { cpus, release, totalmem } from "node:os"
import { fileURLToPath } from "node:url"
import type { MysqlServer } from "./data/mysql-server.ts"

/** What a result was measured on, where no database counts. */
export interface MachineFacts {
  date: string
  commit: string
  cpu: string
  cores: number
  memoryGib: number
  kernel: string
  node: string
}

/** What a result was measured on. */
export interface Facts extends MachineFacts {
  mysql: string
  /** Settings of MySQL that decide about speed. */
  settings: Record<string, string>
  /** Of what was measured. */
  versions: Record<string, string>
}

const packages = [
  "@auth/core",
  "@auth/drizzle-adapter",
  "drizzle-orm",
  "@auth/typeorm-adapter",
  "typeorm",
  "@auth/prisma-adapter",
  "@prisma/client",
  "@prisma/adapter-mariadb",
  "express",
  "mysql2",
  "@grpc/grpc-js",
]

export function readFacts(mysql: MysqlServer): Facts {
  return {
    ...readMachineFacts(),
    mysql: mysql.version,
    settings: mysql.settings,
    versions: Object.fromEntries(packages.map((name) => [name, versionOf(name)])),
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

function versionOf(name: string): string {
  return JSON.parse(readFileSync(new URL(`./node_modules/${name}/package.json`, import.meta.url), "utf8")).version
}

function commit(): string {
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: fileURLToPath(new URL(".", import.meta.url)), encoding: "utf8" }).trim()
  try {
    // The results themselves do not change what is measured.
    const changed = git("status", "--porcelain", "--", "../client", "../server", "../gen", "../token") !== ""
    return git("rev-parse", "--short", "HEAD") + (changed ? " with changes" : "")
  } catch {
    return ""
  }
}
