import { readFileSync } from "node:fs"
import { defineConfig } from "vitepress"
import { searchWeight, searchWords } from "../search.ts"
import { sections, titleOf } from "../sections.js"
import { base, versionSwitch } from "../versions.ts"

const generated = (name) => JSON.parse(readFileSync(new URL(`../build/${name}`, import.meta.url), "utf8"))
const pathOf = (page) => `/${page.replace(/\.md$/, "")}`

// The anchors are those of GitHub, so that a link works in both places.
const slugify = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-")

/** The pages of a section, which are the whole sidebar of each of them: the other sections are in the bar at the top. */
const group = ({ text, pages }) => [{ text, items: pages.map((page) => ({ text: titleOf(page), link: pathOf(page) })) }]

/** Adds the words that readers look for to the title of a page, in the index of the search only. */
function withSearchWords(source, env, markdown) {
  const html = markdown.render(source, env)
  const words = searchWords[env.relativePath]
  return words === undefined ? html : html.replace("</h1>", `</h1><p>${words}</p>`)
}

export default defineConfig({
  title: "Authwire",
  description: "A gRPC identity data service for Auth.js",
  lang: "en",
  base,
  head: [["link", { rel: "icon", href: `${base}logo.svg`, type: "image/svg+xml" }]],
  srcDir: "build",
  srcExclude: ["public/**"],
  outDir: "dist",
  markdown: {
    anchor: { slugify },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
  },
  themeConfig: {
    logo: { src: "/logo.svg", alt: "", width: 24, height: 24 },
    // Two levels, because groups of options and methods with their messages have parts.
    outline: [2, 3],
    search: {
      provider: "local",
      options: {
        _render: withSearchWords,
        miniSearch: { searchOptions: { boostDocument: searchWeight } },
      },
    },
    socialLinks: [{ icon: "github", link: "https://github.com/authwire/authwire" }],
    nav: [
      ...sections.map(({ text, pages }) => ({
        text,
        link: pathOf(pages[0]),
        activeMatch: `^/(?:${pages.map((page) => pathOf(page).slice(1)).join("|")})$`,
      })),
      { text: "API", link: "/api/", activeMatch: "^/(?:api|reference)/" },
      ...versionSwitch(),
    ],
    sidebar: {
      ...Object.fromEntries(sections.flatMap((section) => section.pages.map((page) => [`/${page}`, group(section)]))),
      "/api/": [{ text: "API", link: "/api/" }, ...generated("api/sidebar.json")],
      "/reference/": [
        { text: "API", link: "/api/" },
        { text: "TypeScript", items: generated("reference/typedoc-sidebar.json") },
      ],
    },
  },
})
