// The sections of the site and their pages, in order. Pages of docs/ that are not named here are listed under "More".
import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("..", import.meta.url))

const named = [
  {
    text: "Start",
    pages: ["docs/start/nextjs.md", "docs/start/express.md", "docs/start/sveltekit.md", "docs/start/backend.md"],
  },
  { text: "Move", pages: ["docs/moving.md"] },
  {
    text: "Use",
    pages: [
      "docs/client.md",
      "docs/introspection.md",
      "docs/other-languages.md",
      "docs/gateways.md",
      "docs/sessions.md",
      "docs/extending-sessions.md",
      "docs/session-cache.md",
      "docs/events.md",
      "docs/provider-tokens.md",
      "docs/runtimes.md",
    ],
  },
  {
    text: "Run",
    pages: [
      "docs/deploying.md",
      "docs/operating.md",
      "docs/clusters.md",
      "docs/upgrading.md",
      "docs/backup.md",
      "docs/configuration.md",
    ],
  },
  { text: "Security", pages: ["docs/security.md", "SECURITY.md", "docs/dependencies.md"] },
  { text: "Background", pages: ["docs/performance.md", "CHANGELOG.md"] },
]

const decisions = { text: "Decisions", pages: globSync("docs/decisions/*.md", { cwd: root }).sort() }
const known = [...named, decisions].flatMap(({ pages }) => pages)
const more = {
  text: "More",
  pages: globSync("docs/**/*.md", { cwd: root })
    .filter((page) => !known.includes(page))
    .sort(),
}

/** The sections, each `{ text, pages }`. A page is the path of its file in the repository. */
export const sections = [...named, more, decisions].filter(({ pages }) => pages.length > 0)

/** Returns the first heading of a page; without one, its path. */
export function titleOf(page) {
  return /^# (.+)$/m.exec(readFileSync(`${root}/${page}`, "utf8"))?.[1] ?? page
}
