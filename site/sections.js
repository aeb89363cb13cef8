// The sections of the site and their pages, in order. Pages of docs/ that are not named here are listed under "More".
import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("..", import.meta.url))

const named = [
  {
    text: "Start",
    pages: ["docs/start/nextjs.md", "docs/start/express.md", "docs/start/sveltekit.md", "docs/start/backend.md"],
  },
  {
    text: "Tasks",
    pages: [
      "docs/administration.md",
      "docs/sessions.md",
      "docs/disabling-users.md",
      "docs/extending-sessions.md",
      "docs/moving.md",
      "docs/next-auth-4.md",
      "docs/provider-tokens.md",
      "docs/signals.md",
      "docs/webhooks.md",
      "docs/introspection.md",
      "docs/other-languages.md",
      "docs/gateways.md",
      "docs/session-cache.md",
      "docs/events.md",
      "docs/console.md",
      "docs/runtimes.md",
    ],
  },
  {
    text: "Run",
    pages: [
      "docs/first-hour-in-production.md",
      "docs/deploying.md",
      "docs/operating.md",
      "docs/security.md",
      "docs/clusters.md",
      "docs/backup.md",
      "docs/upgrading.md",
      "docs/performance.md",
    ],
  },
  {
    text: "Reference",
    pages: [
      "docs/configuration.md",
      "docs/errors.md",
      "docs/limits.md",
      "docs/client.md",
      "docs/compared-with.md",
      "docs/stability.md",
      "docs/consistency.md",
      "SECURITY.md",
      "CHANGELOG.md",
    ],
  },
]

/** Pages of the site that are not in the navigation, because they are for maintainers. Other pages have links to them. */
export const unlisted = [
  "docs/dependencies.md",
  "docs/releasing.md",
  ...globSync("docs/decisions/*.md", { cwd: root }).sort(),
]

const known = [...named.flatMap(({ pages }) => pages), ...unlisted]
const more = {
  text: "More",
  pages: globSync("docs/**/*.md", { cwd: root })
    .filter((page) => !known.includes(page))
    .sort(),
}

/** The sections, each `{ text, pages }`. A page is the path of its file in the repository. */
export const sections = [...named, more].filter(({ pages }) => pages.length > 0)

/** Returns the first paragraph of a page, as a plain text of at most 160 characters. */
export function descriptionOf(page) {
  const text = readFileSync(`${root}/${page}`, "utf8")
  const paragraph = text.split("\n\n").find((part) => /^(?:[A-Z*]|`[^`])/.test(part)) ?? ""
  const plain = paragraph
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/[*`]/g, "")
    .replaceAll(/\s+/g, " ")
  return plain.length <= 160 ? plain : `${plain.slice(0, 159).replace(/\W+\w*$/, "")}…`
}

/** Returns the first heading of a page; without one, its path. */
export function titleOf(page) {
  return /^# (.+)$/m.exec(readFileSync(`${root}/${page}`, "utf8"))?.[1] ?? page
}
