import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { makeFolder, writeOnce } from "./folder.js"

/** Returns the configuration, with the secret of a development service if none was given. */
export function withDevSecret<T extends { secrets: readonly string[] }>(configuration: T): T {
  return configuration.secrets.length > 0 ? configuration : { ...configuration, secrets: [devSecret()] }
}

/**
 * Returns the secret of a development service. It is created once in `.authwire/secret` and readable only by its owner.
 */
export function devSecret(folder = ".authwire"): string {
  const file = `${folder}/secret`
  makeFolder(folder)
  writeOnce(file, `${randomBytes(33).toString("base64url")}\n`)
  return readFileSync(file, "utf8").trim()
}
