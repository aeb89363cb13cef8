import { execFile } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const root = fileURLToPath(new URL("../../..", import.meta.url))

/** A fenced code block of a Markdown page. */
export interface Block {
  /** The heading above it. */
  readonly heading: string
  readonly language: string
  readonly code: string
}

/** Returns the fenced blocks of a page in their order. The page is a path in the repository. */
export function blocksOf(page: string): Block[] {
  const found: Block[] = []
  let heading = ""
  let open: { indent: number; language: string; lines: string[] } | undefined
  for (const line of readFileSync(`${root}/${page}`, "utf8").split("\n")) {
    const [, indent = "", language = ""] = /^( *)```(\w*)$/.exec(line) ?? []
    const isFence = line.trim().startsWith("```")
    if (open === undefined && isFence) open = { indent: indent.length, language, lines: [] }
    else if (open === undefined) heading = /^#+ (.+)$/.exec(line)?.[1] ?? heading
    else if (isFence) {
      found.push({ heading, language: open.language, code: open.lines.map((text) => `${text}\n`).join("") })
      open = undefined
    } else open.lines.push(line.slice(open.indent))
  }
  return found
}

/** Returns the code of the blocks of one language directly below a heading. */
export function codeBelow(page: string, heading: string, language = "sh"): string[] {
  return blocksOf(page)
    .filter((block) => block.heading === heading && block.language === language)
    .map(({ code }) => code)
}

/**
 * Runs a shell block unchanged, with the command `authwire` on the PATH. Rejects if one of its commands fails.
 *
 * @param programs - A folder whose programs take precedence over others of the PATH.
 */
export async function runBlock(
  code: string,
  folder: string,
  env: Record<string, string> = {},
  programs?: string,
): Promise<string> {
  const path = [`${root}/node_modules/.bin`, programs, process.env.PATH].filter(Boolean).join(delimiter)
  const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", code], {
    cwd: folder,
    // The programs of the databases read their configuration from HOME.
    env: { PATH: path, HOME: folder, ...env },
  })
  return stdout
}

/**
 * Creates a folder with a checkout of this repository named `authwire`, for commands of a page that begin beside one or
 * in one. What they write into it by a path of its own, such as `.authwire/`, is not written into this repository.
 */
export function folderWithCheckout(): string {
  const folder = mkdtempSync(join(tmpdir(), "authwire-page-"))
  const checkout = join(folder, "authwire")
  mkdirSync(checkout)
  for (const name of readdirSync(root)) {
    // Maven does not follow a link to the schema.
    if (name === "proto") cpSync(join(root, name), join(checkout, name), { recursive: true })
    else if (name !== ".authwire") symlinkSync(join(root, name), join(checkout, name))
  }
  return folder
}
