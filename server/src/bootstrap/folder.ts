import { mkdirSync, writeFileSync } from "node:fs"
import { basename } from "node:path"

/**
 * Creates a folder that only its owner can read, if it does not exist. The folder `.authwire` gets a .gitignore that
 * excludes its content.
 */
export function makeFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (basename(folder) === ".authwire") writeOnce(`${folder}/.gitignore`, "*\n")
}

/** Writes a file that only its owner can read, if it does not exist. */
export function writeOnce(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: "wx", mode: 0o600 })
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error
  }
}
