import { mkdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Page } from "./chromium.js"

/** The folder of the pictures of the docs. */
export const images = fileURLToPath(new URL("../../../docs/images", import.meta.url))

/** Whether this run regenerates the pictures of the docs: `make screenshots`. */
export const writesScreenshots = process.env.AUTHWIRE_SCREENSHOTS === "1"

/** The options of the browser context that takes them. */
export const screenshotContext = { viewport: { width: 640, height: 780 }, deviceScaleFactor: 1.5 } as const

/** Writes a screenshot of a page into docs/images. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  mkdirSync(images, { recursive: true })
  // Removes the caret from any field. Animations are disabled.
  await page.evaluate("document.activeElement.blur()")
  await page.screenshot({ path: `${images}/${name}.png`, animations: "disabled" })
}
