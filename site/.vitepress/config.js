import { readFileSync } from "node:fs"
import { defineConfig } from "vitepress"
import { sections, titleOf } from "../sections.js"

const generated = (name) => JSON.parse(readFileSync(new URL(`../build/${name}`, import.meta.url), "utf8"))
const pathOf = (page) => `/${page.replace(/\.md$/, "")}`

export default defineConfig({
  title: "Authwire",
  description: "A gRPC identity data service for Auth.js",
  lang: "en",
  srcDir: "build",
  outDir: "dist",
  themeConfig: {
    search: { provider: "local" },
    nav: [
      { text: "Start", link: "/docs/start/nextjs" },
      { text: "Run", link: "/docs/deploying" },
      { text: "API", link: "/api/user_service" },
    ],
    sidebar: [
      ...sections.map(({ text, pages }) => ({
        text,
        collapsed: text === "Decisions",
        items: pages.map((page) => ({ text: titleOf(page), link: pathOf(page) })),
      })),
      { text: "Schema", collapsed: true, items: generated("api/sidebar.json") },
      { text: "TypeScript", collapsed: true, items: generated("reference/typedoc-sidebar.json") },
    ],
  },
})
