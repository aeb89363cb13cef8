import { resolve } from "node:path"
import { pathToFileURL } from "node:url"

/** Returns the URL with which libsql opens a file that cannot be written. The driver ignores its own option for that. */
export function readOnlyUrl(path: string): string {
  return `${pathToFileURL(resolve(path))}?mode=ro`
}
