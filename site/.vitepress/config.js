import { readFileSync } from "node:fs"
import { defineConfig } from "vitepress"
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
    search: { provider: "local" },
    socialLinks: [{ icon: "github", link: "https://github.com/authwire/authwire" }],
    nav: [
      { text: "Start", link: "/docs/start/nextjs" },
      { text: "Tasks", link: "/docs/sessions" },
      { text: "Run", link: "/docs/deploying" },
      { text: "Reference", link: "/docs/configuration" },
      ...versionSwitch(),
    ],
    sidebar: [
      ...sections.map(({ text, pages }) => ({
        text,
        items: pages.map((page) => ({ text: titleOf(page), link: pathOf(page) })),
      })),
      { text: "Schema", collapsed: true, items: generated("api/sidebar.json") },
      { text: "TypeScript", collapsed: true, items: generated("reference/typedoc-sidebar.json") },
    ],
  },
})
