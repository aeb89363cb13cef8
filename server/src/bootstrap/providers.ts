import { dirname } from "node:path"
import type { Logger } from "pino"
import { followFile } from "../auth/followed-file.js"
import type { Configuration } from "../config/configuration.js"
import type { Providers } from "../provider-tokens/provider.js"
import { parseProviders } from "../provider-tokens/providers-file.js"
import { readGiven } from "./given-file.js"

/**
 * Opens the providers whose tokens are refreshed; there are none without a file. Throws StartError if the file, or the
 * file of a secret, cannot be read.
 */
export function openProviders(
  { providersFile: path }: Configuration,
  { log, env }: { log: Logger; env: Readonly<Record<string, string | undefined>> },
): Providers & { stop(): void } {
  if (path === undefined) return { of: () => undefined, stop() {} }
  const parse = (text: string) => parseProviders(text, { env, folder: dirname(path) })
  const text = readGiven("--providers-file", path, parse)
  let providers = parse(text)
  const file = followFile({
    path,
    text,
    what: "the file of providers",
    log,
    onText: (changed) => {
      providers = parse(changed)
    },
  })
  return { of: (tenant, name) => providers.of(tenant, name), stop: file.stop }
}
