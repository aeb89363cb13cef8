/** The variables of an environment, by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Returns the secrets of an environment in the order of Auth.js, newest first: AUTH_SECRET_3, AUTH_SECRET_2,
 * AUTH_SECRET_1, AUTH_SECRET. Unset and empty variables are omitted (contract, section 5).
 *
 * @param env - The variables. Default: those of the process, or none if there is no process or access is denied.
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
 * Returns whether the session cookie has the prefix `__Secure-` in an environment. It has, unless the URL of the
 * application is not set or begins with `http://`. The URL is SERVICE_AUTH_URL or else AUTH_URL (contract, section
 * 2.6).
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

/**
 * Returns the environment of the process with the variables of next-auth 4: NEXTAUTH_SECRET takes the place of
 * AUTH_SECRET, and NEXTAUTH_URL that of SERVICE_AUTH_URL, if they are set.
 */
export function nextAuth4Environment(): Environment {
  const { NEXTAUTH_SECRET, NEXTAUTH_URL, ...env } = processEnvironment()
  return {
    ...env,
    ...(NEXTAUTH_SECRET && { AUTH_SECRET: NEXTAUTH_SECRET }),
    ...(NEXTAUTH_URL && { SERVICE_AUTH_URL: NEXTAUTH_URL }),
  }
}

const names = [
  ...["AUTH_SECRET", "AUTH_SECRET_1", "AUTH_SECRET_2", "AUTH_SECRET_3", "SERVICE_AUTH_URL", "AUTH_URL"],
  ...["NEXTAUTH_SECRET", "NEXTAUTH_URL"],
]

/** Returns the relevant variables of the process. Nothing else uses `process`, which edge runtimes may lack. */
function processEnvironment(): Environment {
  try {
    const { process } = globalThis as { process?: { env?: Environment } }
    return Object.fromEntries(names.map((name) => [name, process?.env?.[name]]))
  } catch {
    // Deno throws if the program has no permission to read a variable.
    return {}
  }
}
