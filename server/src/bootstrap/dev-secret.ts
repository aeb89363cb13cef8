import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { makeFolder, writeOnce } from "./folder.js"

/** The configuration, with the secret of a development service where none was given. */
export function withDevSecret<T extends { secrets: readonly string[] }>(configuration: T): T {
  return configuration.secrets.length > 0 ? configuration : { ...configuration, secrets: [devSecret()] }
}

/** The secret of a development service: made once, readable by its owner only, and kept in `.authwire/secret`. */
export function devSecret(folder = ".authwire"): string {
  const file = `${folder}/secret`
  makeFolder(folder)
  writeOnce(file, `${randomBytes(33).toString("base64url")}\n`)
  return readFileSync(file, "utf8").trim()
}
