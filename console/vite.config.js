import { defineConfig } from "vite"

// The page, as files that the console serves. Nothing is inlined, because its Content-Security-Policy allows no inline code.
export default defineConfig({
  root: "src/page",
  base: "/",
  // Another package of this repository has an older one.
  resolve: { dedupe: ["preact"] },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../../dist/page",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    target: "es2022",
    modulePreload: { polyfill: false },
  },
})
