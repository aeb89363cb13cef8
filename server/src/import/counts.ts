import { StartError } from "../errors/start-error.js"
import type { BulkName } from "../store/sql/index.js"
import type { ImportSource } from "./item.js"

/** Throws StartError if fewer rows were read than the source counts: one that it does not show would seem to be missing. */
export async function requireAll(
  source: ImportSource,
  name: BulkName,
  { counted, read }: { counted: number; read: number },
): Promise<void> {
  // Counted again, because not every source shows one state: the application may have deleted rows.
  if (read >= counted || read >= (await source.count(name))) return
  throw new StartError(
    `--url: the source counts ${counted} ${name}, but shows only ${read}: is an index damaged? Run the command again if the ` +
      "source has changed meanwhile; nothing was written",
  )
}
