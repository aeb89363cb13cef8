import { dirname } from "node:path"
import type { Logger } from "pino"
import type { Configuration } from "../config/configuration.js"
import type { Providers } from "../provider-tokens/provider.js"
import { parseProviders } from "../provider-tokens/providers-file.js"
import { followFile } from "./followed-file.js"

/**
 * Opens the providers whose tokens are refreshed; there are none without a file. Throws StartError if the file, or the
 * file of a secret, cannot be read.
 */
export function openProviders(
  { providersFile: path }: Configuration,
  { log, env }: { log: Logger; env: Readonly<Record<string, string | undefined>> },
): Providers & { stop(): void } {
  if (path === undefined) return { of: () => undefined, stop() {} }
  let providers: Providers = { of: () => undefined }
  const file = followFile({
    flag: "--providers-file",
    path,
    what: "the file of providers",
    log,
    parse: (text) => parseProviders(text, { env, folder: dirname(path) }),
    onContents: (contents) => {
      providers = contents
    },
  })
  return { of: (tenant, name) => providers.of(tenant, name), stop: file.stop }
}
