import { mkdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Page } from "./chromium.js"

/** Where the pictures of the docs are. */
export const images = fileURLToPath(new URL("../../../docs/images", import.meta.url))

/** Whether this run writes the pictures of the docs anew: `make screenshots`. */
export const writesScreenshots = process.env.AUTHWIRE_SCREENSHOTS === "1"

/** What a context of the browser is made with for them. */
export const screenshotContext = { viewport: { width: 640, height: 780 }, deviceScaleFactor: 1.5 } as const

/** Writes what a page shows into docs/images. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  mkdirSync(images, { recursive: true })
  // No field has the caret in it, and nothing moves.
  await page.evaluate("document.activeElement.blur()")
  await page.screenshot({ path: `${images}/${name}.png`, animations: "disabled" })
}
