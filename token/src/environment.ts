/** The variables of an environment, by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * The secrets of an environment in the order of Auth.js, the newest first: AUTH_SECRET_3, AUTH_SECRET_2, AUTH_SECRET_1,
 * AUTH_SECRET, as far as they are set and not empty (contract, section 5).
 *
 * @param env - The variables. Default: those of the process, or none where there is no process or it may not be asked.
 * @example
 * ```ts
 * secretsFromEnvironment({ AUTH_SECRET: "old", AUTH_SECRET_1: "new" }) // ["new", "old"]
 * ```
 */
export function secretsFromEnvironment(env: Environment = processEnvironment()): string[] {
  const { AUTH_SECRET, AUTH_SECRET_1, AUTH_SECRET_2, AUTH_SECRET_3 } = env
  return [AUTH_SECRET_3, AUTH_SECRET_2, AUTH_SECRET_1, AUTH_SECRET].filter((secret) => !!secret) as string[]
}

/**
 * Whether the session cookie of an environment has the secure prefix: unless the application's URL, SERVICE_AUTH_URL or
 * else AUTH_URL, begins with `http://` or is not set (contract, section 2.6).
 *
 * @param env - See secretsFromEnvironment.
 * @example
 * ```ts
 * secureCookieFromEnvironment({ AUTH_URL: "https://app.example.com/auth" }) // true
 * ```
 */
export function secureCookieFromEnvironment(env: Environment = processEnvironment()): boolean {
  const url = env.SERVICE_AUTH_URL || env.AUTH_URL
  // RFC 3986, section 3.1: "Although schemes are case-insensitive, the canonical form is lowercase".
  return !!url && !/^http:\/\//i.test(url)
}

/** The only place that knows of a process, and it copes without: at the edge there may be none. */
function processEnvironment(): Environment {
  try {
    const { process } = globalThis as { process?: { env?: Environment } }
    const { AUTH_SECRET, AUTH_SECRET_1, AUTH_SECRET_2, AUTH_SECRET_3, SERVICE_AUTH_URL, AUTH_URL } = process?.env ?? {}
    return { AUTH_SECRET, AUTH_SECRET_1, AUTH_SECRET_2, AUTH_SECRET_3, SERVICE_AUTH_URL, AUTH_URL }
  } catch {
    // Deno throws if the program was not allowed to read a variable.
    return {}
  }
}
