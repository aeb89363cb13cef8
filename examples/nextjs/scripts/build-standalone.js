/** Builds the application into .next/standalone and adds its scripts and styles, which Next.js expects on a CDN. */
import { execFileSync } from "node:child_process"
import { cpSync } from "node:fs"
import { fileURLToPath } from "node:url"

const folder = fileURLToPath(new URL("..", import.meta.url))
execFileSync(process.execPath, ["node_modules/next/dist/bin/next", "build"], {
  cwd: folder,
  env: { ...process.env, NEXT_OUTPUT: "standalone" },
  stdio: "inherit",
})
cpSync(`${folder}.next/static`, `${folder}.next/standalone/examples/nextjs/.next/static`, { recursive: true })
