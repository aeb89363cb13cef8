import { cpSync, globSync, mkdtempSync, renameSync, rmSync, statSync } from "node:fs"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const folder = `${root}build/command`
const sources = [
  "{server,token}/dist/**/*.js",
  "gen/ts/**/*.js",
  "server/{bin/*,package.json}",
  "node_modules/.package-lock.json",
]

/**
 * Bundles the command `authwire` into build/command, unless the bundle is newer than the build. The tests start the
 * service some hundred times, and more than half of the CPU time of a start is the loading of 1,300 files.
 */
export async function bundleCommand() {
  const newest = Math.max(...globSync(sources, { cwd: root }).map((file) => statSync(root + file).mtimeMs))
  if ((statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0) > newest) return
  const { build } = await import("vite")
  // Not in its place: another run may be using the last one.
  const made = mkdtempSync(`${folder}-`)
  await build({
    configFile: false,
    root: `${root}server`,
    logLevel: "error",
    build: { ssr: "dist/cli/main.js", outDir: `${made}/dist/cli`, target: "node24", emptyOutDir: true },
    // The console finds the files of its page beside its own.
    ssr: { noExternal: true, external: ["@authwire/console"] },
  })
  for (const name of ["bin", "package.json"]) cpSync(`${root}server/${name}`, `${made}/${name}`, { recursive: true })
  rmSync(folder, { recursive: true, force: true })
  renameSync(made, folder)
}
