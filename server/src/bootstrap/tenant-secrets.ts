import type { Logger } from "pino"
import { followFile } from "../auth/followed-file.js"
import { parseTenantSecrets } from "../auth/tenant-secrets.js"
import type { Configuration } from "../config/configuration.js"
import { readGiven } from "./given-file.js"

/**
 * Opens the secrets of all tenants. Those of the default tenant come from the environment, those of other tenants from
 * a file, and none from the database. A tenant without a secret of its own never gets those of another tenant. Throws
 * StartError if the file cannot be read.
 */
export function openTenantSecrets(
  { secrets, tenantSecretsFile: path, dev }: Configuration,
  log: Logger,
): { of(tenant: string): readonly string[]; stop(): void } {
  const parse = (text: string) => parseTenantSecrets(text, { short: dev })
  const none: readonly string[] = []
  if (path === undefined) return { of: (tenant) => (tenant === "default" ? secrets : none), stop() {} }
  const text = readGiven("--tenant-secrets-file", path, parse)
  let others = parse(text)
  const file = followFile({
    path,
    text,
    what: "the file of the tenants' secrets",
    log,
    onText: (changed) => {
      others = parse(changed)
    },
  })
  return { of: (tenant) => (tenant === "default" ? secrets : (others.get(tenant) ?? none)), stop: file.stop }
}
