import { randomBytes } from "node:crypto"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"

/** The configuration, with the secret of a development service where none was given. */
export function withDevSecret<T extends { secrets: readonly string[] }>(configuration: T): T {
  return configuration.secrets.length > 0 ? configuration : { ...configuration, secrets: [devSecret()] }
}

/** The secret of a development service: made once, readable by its owner only, and kept in `.authwire/secret`. */
export function devSecret(folder = ".authwire"): string {
  const file = `${folder}/secret`
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  try {
    writeFileSync(file, `${randomBytes(33).toString("base64url")}\n`, { flag: "wx", mode: 0o600 })
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error
  }
  return readFileSync(file, "utf8").trim()
}
