import { execFile } from "node:child_process"
import { existsSync, globSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { extname, join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { promisify } from "node:util"
import { gzipSync } from "node:zlib"
import { type Browser, hasChromium, launchChromium, type Page } from "@authwire/test-support/applications/chromium.js"
import { hasSite, site } from "@authwire/test-support/applications/site.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { searchWeight } from "../../site/search.ts"

// The site as readers get it, as that of a release. One file, because another test must not build it at the same time.
const dist = join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, "site")
const base = "/v0.1/"
const axe = join(site, "../test/browser/node_modules/axe-core/axe.min.js")
const pages = [
  "/",
  "/docs/start/nextjs",
  "/docs/configuration",
  "/docs/performance",
  "/SECURITY",
  "/api/",
  "/api/session_service",
  "/reference/client/functions/AuthwireAdapter",
]
const views = [
  { width: 1280, height: 800, colorScheme: "light" },
  { width: 1280, height: 800, colorScheme: "dark" },
  { width: 390, height: 844, colorScheme: "light" },
  { width: 390, height: 844, colorScheme: "dark" },
] as const
// What VitePress's own sidebar and search button do not satisfy.
const vitePress = { "nested-interactive": { enabled: false }, "label-content-name-mismatch": { enabled: false } }
const types: Record<string, string> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".json": "application/json",
  ".png": "image/png",
  ".woff2": "font/woff2",
}

/**
 * How far the outline moves when the content arrives, which a slow browser paints later, in pixels. The page must not be
 * used afterwards.
 */
const outlineMoves = `{
  const left = () => document.querySelector(".VPDoc .aside-container")?.getBoundingClientRect().x ?? 0
  const whole = left()
  document.querySelector(".VPDoc .container > .content")?.style.setProperty("display", "none")
  left() - whole
}`

/** The part of MiniSearch that the site's search box uses. */
interface Index {
  search(words: string): { id: string }[]
}

const withSite = hasSite() ? describe : describe.skip
const withBrowser = hasChromium() && existsSync(axe) && hasSite() ? describe : describe.skip

beforeAll(async () => {
  if (!hasSite()) return
  const versions = [
    { name: "latest", base: "/" },
    { name: "v0.1", base },
  ]
  const more = { AUTHWIRE_SITE_BASE: base, AUTHWIRE_SITE_VERSIONS: JSON.stringify(versions) }
  const env = { ...process.env, NODE_OPTIONS: "", ...more }
  await promisify(execFile)("npm", ["run", "--silent", "pages", "--", `--outDir=${dist}`], { cwd: site, env })
}, 300_000)

withSite("the search of the site", () => {
  let index: Index
  beforeAll(async () => {
    const [file = ""] = globSync(`${dist}/assets/chunks/@localSearchIndexroot.*.js`)
    const MiniSearch = createRequire(`${site}/package.json`)("minisearch")
    // As VitePress's search box does it.
    index = MiniSearch.loadJSON((await import(file)).default, {
      fields: ["title", "titles", "text"],
      storeFields: ["title", "titles"],
      searchOptions: {
        fuzzy: 0.2,
        prefix: true,
        boost: { title: 4, text: 2, titles: 1 },
        boostDocument: searchWeight,
      },
    })
  })

  test.each([
    ["PermissionDenied", "permission_denied-7"],
    ["PERMISSION_DENIED", "scope_missing"],
    ["SCOPE_MISSING", "scope_missing"],
    ["DATABASE_UNAVAILABLE", "database_unavailable"],
  ])("%s leads to the page of errors", (words, anchor) => {
    const first = index.search(words).slice(0, 5)
    expect(first.map(({ id }) => id)).toContain(`${base}docs/errors.html#${anchor}`)
  })

  test.each([
    ["logout", "docs/signals"],
    ["GDPR", "docs/administration"],
    ["redis", "docs/session-cache"],
    ["block user", "docs/disabling-users"],
    ["api key", "docs/security"],
    ["tls", "docs/security"],
    ["introspect", "docs/introspection"],
    ["webhook", "docs/webhooks"],
  ])("%s leads to %s", (words, page) => {
    const first = index.search(words).slice(0, 3)
    expect(first.map(({ id }) => id.split("#")[0])).toContain(`${base}${page}.html`)
  })
})

withBrowser("the pages of the site", () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchChromium()
  })
  afterAll(() => browser.close())

  /** Opens a page in a view, reads it to its end, and returns what `look` returns and the bytes that were sent. */
  async function opened<T>(path: string, view: (typeof views)[number], look: (page: Page) => Promise<T>) {
    const { colorScheme, ...viewport } = view
    const context = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce" })
    let sent = 0
    const failed: string[] = []
    try {
      await context.route("**", async (route) => {
        const { pathname } = new URL(route.request().url())
        // The first page of another version.
        if (pathname === "/") return route.fulfill({ body: "" })
        const path = pathname.startsWith(base) ? pathname.slice(base.length) : "none"
        const name = join(dist, path.replace(/(^|\/)$/, "$1index.html"))
        const file = existsSync(name) && extname(name) !== "" ? name : `${name}.html`
        if (!existsSync(file)) {
          failed.push(pathname)
          return route.fulfill({ status: 404 })
        }
        const body = readFileSync(file)
        // Pages that the browser fetches in advance are not part of this one.
        if (!route.request().headers()["sec-purpose"]) sent += compressed(file, body)
        // As over a slow network, pictures and fonts arrive when the texts around them are on the screen.
        if ([".svg", ".png", ".woff2"].includes(extname(file))) await setTimeout(500)
        return route.fulfill({ body, contentType: types[extname(file)] ?? "application/octet-stream" })
      })
      const page = await context.newPage()
      await page.addInitScript(
        "addEventListener('DOMContentLoaded', () => { globalThis.shifts = 0; new PerformanceObserver((list) => { " +
          "for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) globalThis.shifts += value " +
          "}).observe({ type: 'layout-shift', buffered: true }) })",
      )
      page.on("pageerror", (error) => failed.push(String(error)))
      await page.goto(`http://127.0.0.1${base}${path.slice(1)}`, { waitUntil: "load" })
      await page.evaluate("scrollTo({ top: document.body.scrollHeight, behavior: 'instant' })")
      await page.waitForLoadState("networkidle")
      const seen = await look(page)
      expect(failed).toEqual([])
      return { seen, sent }
    } finally {
      await context.close()
    }
  }

  test("the switch of versions shows this one, and leads to another", async () => {
    const { seen } = await opened("/docs/configuration", views[0], async (page) => {
      const versions = page.locator(".VPNavBar select[aria-label=Version]")
      const shown = await versions.inputValue()
      await versions.selectOption("/")
      await page.waitForURL("http://127.0.0.1/")
      return shown
    })
    expect(seen).toBe(base)
  })

  describe.each(pages)("%s", (path) => {
    test.each(views)("can be read, and does not move: %j", async (view) => {
      const { seen, sent } = await opened(path, view, async (page) => {
        await page.addScriptTag({ content: readFileSync(axe, "utf8") })
        const findings = await page.evaluate(
          `axe.run({ rules: ${JSON.stringify(vitePress)} }).then(({ violations }) => violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')` +
            ".map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(' | ')))",
        )
        return {
          findings,
          shifts: await page.evaluate("shifts"),
          overflow: await page.evaluate("document.documentElement.scrollWidth - innerWidth"),
          description: await page.evaluate("document.querySelector('meta[name=description]').content"),
          moved: await page.evaluate(outlineMoves),
        }
      })
      expect(seen.findings).toEqual([])
      expect(seen.shifts).toBeLessThan(0.1)
      expect(seen.moved).toBe(0)
      expect(seen.overflow).toBeLessThanOrEqual(0)
      expect(seen.description).toMatch(/\w.{30}/)
      expect(sent).toBeLessThanOrEqual(300_000)
    })
  })
})

/** The bytes of a file as a server sends them: texts with gzip. */
function compressed(file: string, body: Buffer): number {
  return [".png", ".woff2"].includes(extname(file)) ? body.length : gzipSync(body).length
}
