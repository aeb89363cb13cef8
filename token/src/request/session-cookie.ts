/** The library whose default names are meant: Auth.js, or next-auth 4 and older. */
export type SessionLibrary = "authjs" | "next-auth"

/**
 * Returns the default name of Auth.js's session cookie, which is also the default salt of its tokens, or that of
 * next-auth 4.
 *
 * @param secure - Whether the name has the prefix `__Secure-`. Browsers accept such a cookie only over HTTPS.
 * @example
 * ```ts
 * sessionCookieName(true) // "__Secure-authjs.session-token"
 * ```
 */
export function sessionCookieName(secure: boolean, library: SessionLibrary = "authjs"): string {
  return `${secure ? "__Secure-" : ""}${library}.session-token`
}

/**
 * Returns the candidates for the session token in the cookies. There is usually one candidate, none without a session
 * cookie, and several if cookies of an earlier session are left over.
 *
 * Auth.js stores a token of up to 3936 characters in the cookie `name`. It splits a longer token into the chunks
 * `name.0`, `name.1`, …, which all have that length except the last. The candidates are
 * - the cookie `name`;
 * - the chunks from 0 to the first that is shorter than the one before, because later ones are left over from a longer
 *   token;
 * - all chunks from 0 to a gap, in case other software than Auth.js split the token.
 *
 * Cookies such as `name-other`, `name.x`, `name.1.2` or `name.01` only have the same prefix and are not chunks. Auth.js
 * appends them to the token, and also all chunks after a gap.
 *
 * @returns The candidates, without empty values and duplicates, the most likely first.
 */
export function sessionTokens(cookies: ReadonlyMap<string, string>, name: string): string[] {
  const chunks: string[] = []
  let lastOfToken: number | undefined
  for (let chunk = cookies.get(`${name}.0`); chunk; chunk = cookies.get(`${name}.${chunks.length}`)) {
    if (chunk.length < (chunks.at(-1)?.length ?? 0)) lastOfToken ??= chunks.length
    chunks.push(chunk)
  }
  const upToShorter = chunks.slice(0, lastOfToken === undefined ? undefined : lastOfToken + 1).join("")
  const candidates = [cookies.get(name), upToShorter, chunks.join("")]
  return [...new Set(candidates.filter((candidate) => !!candidate))] as string[]
}
