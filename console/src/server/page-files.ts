import { glob, readFile } from "node:fs/promises"
import { extname, join } from "node:path"
import { fileURLToPath } from "node:url"

/** A file of the page. */
interface PageFile {
  content: Buffer
  /** Media type. */
  type: string
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
}

/** Reads the files of the page, by their paths. Nothing else can be asked for. */
export async function pageFiles(): Promise<ReadonlyMap<string, PageFile>> {
  const folder = fileURLToPath(new URL("../page", import.meta.url))
  const files = new Map<string, PageFile>()
  for await (const name of glob("**/*.*", { cwd: folder })) {
    const type = types[extname(name)]
    if (type !== undefined) files.set(`/${name}`, { content: await readFile(join(folder, name)), type })
  }
  return files
}
