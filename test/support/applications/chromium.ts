import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Browser, BrowserContext, Page } from "../../browser/node_modules/playwright-core/index.js"

// Loaded by jest and, for `hasChromium`, by Node as it is: so it imports no file of ours.

export type { Browser, BrowserContext, Page }

/** A passkey that a virtual authenticator holds, as the DevTools protocol describes it. */
export interface Passkey {
  /** Base64. */
  credentialId: string
  rpId?: string
  signCount: number
}

/** An authenticator of one page that holds passkeys and agrees to everything by itself. */
export interface VirtualAuthenticator {
  passkeys(): Promise<readonly Passkey[]>
}

const folder = fileURLToPath(new URL("../../browser", import.meta.url))

/** Whether a Chromium is on the path, and what drives it is installed. */
export function hasChromium(): boolean {
  return chromiumPath() !== undefined && existsSync(join(folder, "node_modules/playwright-core"))
}

/** Starts Chromium without a window. It reaches this machine only. The caller closes it. */
export async function launchChromium(): Promise<Browser> {
  const executablePath = chromiumPath()
  if (executablePath === undefined) throw new Error("no Chromium on the path")
  const { chromium }: typeof import("../../browser/node_modules/playwright-core/index.js") = createRequire(
    join(folder, "package.json"),
  )("playwright-core")
  return chromium.launch({
    executablePath,
    args: ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"],
  })
}

/** Gives a page an authenticator for passkeys. It is there until the page closes, on whatever it shows. */
export async function addVirtualAuthenticator(page: Page): Promise<VirtualAuthenticator> {
  const devTools = await page.context().newCDPSession(page)
  await devTools.send("WebAuthn.enable")
  const { authenticatorId } = await devTools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    async passkeys() {
      const { credentials } = await devTools.send("WebAuthn.getCredentials", { authenticatorId })
      return credentials
    },
  }
}

function chromiumPath(): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter)
  const names = ["chromium", "chromium-browser", "google-chrome"]
  return folders.flatMap((path) => names.map((name) => join(path, name))).find((path) => existsSync(path))
}
