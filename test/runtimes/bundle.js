import { fileURLToPath } from "node:url"
import { build } from "esbuild"

const folder = fileURLToPath(new URL(".", import.meta.url))

/**
 * Bundles as a platform does for its runtime. `conditions` select the files of packages.
 *
 * @param {{ entry?: string, source?: string, conditions: string[], format: "esm" | "iife" }} what
 */
export async function bundle({ entry, source, conditions, format }) {
  const { outputFiles, metafile } = await build({
    ...(entry ? { entryPoints: [fileURLToPath(new URL(entry, import.meta.url))] } : {}),
    ...(source ? { stdin: { contents: source, resolveDir: folder } } : {}),
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format,
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions,
  })
  return { code: outputFiles[0].text, inputs: Object.values(metafile.outputs)[0].inputs }
}
