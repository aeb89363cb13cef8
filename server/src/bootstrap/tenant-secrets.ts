import type { Logger } from "pino"
import { parseTenantSecrets } from "../auth/tenant-secrets.js"
import type { Configuration } from "../config/configuration.js"
import { followFile } from "./followed-file.js"

/**
 * Opens the secrets of all tenants. Those of the default tenant come from the environment, those of other tenants from
 * a file, and none from the database. A tenant without a secret of its own never gets those of another tenant. Throws
 * StartError if the file cannot be read.
 */
export function openTenantSecrets(
  { secrets, tenantSecretsFile: path, dev }: Configuration,
  log: Logger,
): { of(tenant: string): readonly string[]; stop(): void } {
  let others: ReturnType<typeof parseTenantSecrets> = new Map()
  const file =
    path === undefined
      ? undefined
      : followFile({
          flag: "--tenant-secrets-file",
          path,
          what: "the file of the tenants' secrets",
          log,
          parse: (text) => parseTenantSecrets(text, { short: dev }),
          onContents: (contents) => {
            others = contents
          },
        })
  return {
    of: (tenant) => (tenant === "default" ? secrets : (others.get(tenant) ?? [])),
    stop: () => file?.stop(),
  }
}
