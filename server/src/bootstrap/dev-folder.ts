import { randomBytes } from "node:crypto"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename } from "node:path"
import { orStartError } from "../errors/start-error.js"
import { secretText } from "../util/secret-text.js"

/** Adds the secret of a development service, which is created once in `.authwire/secret`, if none was given. */
export function withDevSecret<T extends { secrets: readonly string[] }>(configuration: T): T {
  if (configuration.secrets.length > 0) return configuration
  makeFolder(".authwire")
  writeOnce(".authwire/secret", `${randomBytes(33).toString("base64url")}\n`)
  return { ...configuration, secrets: [secretText(readFileSync(".authwire/secret"))] }
}

/** Creates a folder that only its owner can read. `.authwire` gets a .gitignore that excludes its content. */
export function makeFolder(folder: string): void {
  attempt(folder, () => mkdirSync(folder, { recursive: true, mode: 0o700 }))
  if (basename(folder) === ".authwire") writeOnce(`${folder}/.gitignore`, "*\n")
}

/** Writes a file that only its owner can read, if it does not exist. */
function writeOnce(file: string, text: string): void {
  attempt(file, () => {
    try {
      writeFileSync(file, text, { flag: "wx", mode: 0o600 })
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error
    }
  })
}

function attempt(path: string, work: () => unknown): void {
  const advice = ": start in a folder that can be written, or set AUTH_SECRET and --database-url"
  orStartError(`cannot create ${path}`, work, advice)
}
