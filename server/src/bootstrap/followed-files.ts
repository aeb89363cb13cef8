import { isUtf8 } from "node:buffer"
import { dirname } from "node:path"
import type { Logger } from "pino"
import { parseTenantSecrets } from "../auth/tenant-secrets.js"
import type { Configuration } from "../config/configuration.js"
import { InvalidValueError } from "../errors/invalid-value-error.js"
import { StartError, systemCodeOf } from "../errors/start-error.js"
import type { Providers } from "../provider-tokens/provider.js"
import { parseProviders } from "../provider-tokens/providers-file.js"
import { readGivenFile, readRegularFile } from "../util/given-file.js"
import { utf8 } from "../util/utf8.js"
import { watchFiles } from "../util/watch-file.js"

/** Throws InvalidValueError if a file is not in UTF-8, and the errors of reading. */
function readText(path: string, read: (path: string) => Buffer): string {
  const bytes = read(path)
  if (!isUtf8(bytes)) throw new InvalidValueError(`${path} must be in UTF-8`)
  return utf8.decode(bytes)
}

/** Reads a file that an option names. Throws StartError if the file cannot be read or `parse` rejects its text. */
export function readGiven<T>(flag: string, path: string, parse: (text: string) => T): T {
  try {
    return parse(readText(path, readGivenFile))
  } catch (error) {
    if (error instanceof InvalidValueError) throw new StartError(`${flag}: ${error.message}`)
    throw new StartError(`${flag}: cannot read ${path} (${systemCodeOf(error)})`, { cause: error })
  }
}

interface FollowOptions<T> {
  flag: string
  /** The file. Nothing is done without one. */
  path: string | undefined
  /** The description of the file, for the log. */
  what: string
  log: Logger
  /** Parses the text. Throws InvalidValueError. */
  parse: (text: string) => T
  /** Called with the contents at once, and whenever they have changed. */
  onContents: (contents: T) => void
}

/**
 * Reads a file as `readGiven` does, and again whenever it has changed. If the changed file cannot be read or parsed,
 * the previous contents stay in effect, and the problem is logged.
 */
export function followFile<T>({ flag, path, what, log, parse, onContents }: FollowOptions<T>): { stop(): void } {
  if (path === undefined) return { stop() {} }
  let used = ""
  const contents = readGiven(flag, path, (text) => {
    used = text
    return parse(text)
  })
  onContents(contents)
  return watchFiles({
    paths: [path],
    read: () => readText(path, readRegularFile),
    used,
    take(text) {
      onContents(parse(text))
      log.info({ file: path }, `${what}: loaded again`)
    },
    fail(error) {
      const problem = error instanceof InvalidValueError ? error.message : systemCodeOf(error)
      log.error({ file: path, problem }, `${what}: cannot be used; the previous contents stay in effect`)
    },
  })
}

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
  const { stop } = followFile({
    ...{ flag: "--tenant-secrets-file", path, what: "the file of the tenants' secrets", log },
    parse: (text) => parseTenantSecrets(text, { short: dev }),
    onContents: (contents) => {
      others = contents
    },
  })
  return { of: (tenant) => (tenant === "default" ? secrets : (others.get(tenant) ?? [])), stop }
}

/** Opens the providers whose tokens are refreshed. Throws StartError if a file cannot be read. */
export function openProviders(
  { providersFile: path }: Configuration,
  { log, env }: { log: Logger; env: Readonly<Record<string, string | undefined>> },
): Providers & { stop(): void } {
  let providers: Providers = { of: () => undefined }
  const { stop } = followFile({
    ...{ flag: "--providers-file", path, what: "the file of providers", log },
    parse: (text) => parseProviders(text, { env, folder: dirname(path ?? "") }),
    onContents: (contents) => {
      providers = contents
    },
  })
  return { of: (tenant, name) => providers.of(tenant, name), stop }
}
