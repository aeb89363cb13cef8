import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Browser, BrowserContext, Page } from "../../browser/node_modules/playwright-core/index.js"

// Loaded by jest and, for `hasChromium`, by Node directly, so it imports no other file of this repository.

export type { Browser, BrowserContext, Page }

/** A passkey of a virtual authenticator, as the DevTools protocol describes it. */
export interface Passkey {
  /** Base64. */
  credentialId: string
  rpId?: string
  signCount: number
}

/** A virtual authenticator of one page. It stores passkeys and confirms every request automatically. */
export interface VirtualAuthenticator {
  passkeys(): Promise<readonly Passkey[]>
}

const folder = fileURLToPath(new URL("../../browser", import.meta.url))

/** Whether Chromium is on the PATH and the library that controls it is installed. */
export function hasChromium(): boolean {
  return chromiumPath() !== undefined && existsSync(join(folder, "node_modules/playwright-core"))
}

/** Starts Chromium without a window. It can reach this machine only. The caller closes it. */
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

/** Adds a virtual authenticator for passkeys to a page. It stays until the page closes, also across navigations. */
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
