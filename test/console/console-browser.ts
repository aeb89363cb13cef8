import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { type Console, startConsole } from "@authwire/console"
import { type Browser, launchChromium, type Page } from "@authwire/test-support/applications/chromium.js"

const axe = fileURLToPath(new URL("../browser/node_modules/axe-core/axe.min.js", import.meta.url))

/** What a user or a key may call itself to attack who looks. */
export const hostile = [
  "<script>document.title = 'attacked'</script>",
  `"><img src=x onerror="document.title = 'attacked'">`,
  "<style>* { display: none }</style>",
  "\u202Egnp.exe\u2066",
  "x".repeat(4000),
]

/** A wide window with a light page, and a phone with a dark one. */
export const looks = [
  [{ viewport: { width: 1280, height: 800 }, colorScheme: "light" }],
  [{ viewport: { width: 390, height: 844 }, colorScheme: "dark" }],
] as const

/** Opens consoles in Chromium. */
export async function consoleBrowser() {
  const browser = await launchChromium()
  const consoles: Console[] = []
  return {
    /**
     * Opens a console with a key. `faults` lists errors of the page's scripts, and what it asked of another host.
     *
     * @param service the address of the service's HTTP listener.
     */
    async open(service: string, apiKey: string, options: Parameters<Browser["newContext"]>[0] = {}) {
      let address = ""
      const opened = await startConsole({ service, apiKey, onAddress: (url) => (address = url) })
      consoles.push(opened)
      const context = await browser.newContext(options)
      const page: Page = await context.newPage()
      const faults: string[] = []
      page.on("pageerror", (error) => faults.push(String(error)))
      page.on("request", (request) => {
        if (!request.url().startsWith(opened.url)) faults.push(request.url())
      })
      await page.goto(address)
      return { page, url: opened.url, faults, close: () => context.close() }
    },

    async close() {
      await browser.close()
      for (const one of consoles) await one.close()
    },
  }
}

/** Calls a method through the proxy of the console, as a script of the page could. Returns the status of HTTP. */
export function callThroughProxy(page: Page, method: string, request: object): Promise<unknown> {
  return page.evaluate(
    `fetch("/rpc/authwire.v1.${method}", { method: "POST", body: ${JSON.stringify(JSON.stringify(request))}, ` +
      `headers: { "content-type": "application/json", "x-console-page": localStorage.getItem("authwire-console-page") } })` +
      `.then((answer) => answer.status)`,
  )
}

/** What is wrong with what the page shows: an attack that worked, a line that is too long, and what axe finds serious. */
export async function findings(page: Page): Promise<unknown[]> {
  // The policy of the page forbids scripts of others, so the checker comes by the browser's own tools.
  await page.evaluate(readFileSync(axe, "utf8"))
  const found = (await page.evaluate(
    "axe.run().then(({ violations }) => violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')" +
      ".map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 120)).join(' | ')))",
  )) as unknown[]
  const title = await page.title()
  const excess = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
  const text = (await page.locator("main").textContent()) ?? ""
  return [
    ...found,
    ...(title === "Authwire console" ? [] : [title]),
    ...(excess === 0 ? [] : [`${excess} pixels too wide`]),
    ...(/[\u202A-\u202E\u2066-\u2069]/.test(text) ? ["turns the line around"] : []),
    ...((await page.locator("main h1").isVisible()) ? [] : ["no heading"]),
  ]
}
