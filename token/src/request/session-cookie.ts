/**
 * The name that Auth.js gives to the session cookie by default, which is also the default salt of its tokens.
 *
 * @param secure - Whether it has the prefix `__Secure-`, with which browsers take it only over HTTPS.
 * @example
 * ```ts
 * sessionCookieName(true) // "__Secure-authjs.session-token"
 * ```
 */
export function sessionCookieName(secure: boolean): string {
  return secure ? "__Secure-authjs.session-token" : "authjs.session-token"
}

/**
 * What the session token may be, by the cookies: nothing, one thing nearly always, several when cookies of an earlier
 * session were left over.
 *
 * Auth.js puts a token of up to 3936 characters into the cookie `name`, and cuts a longer one into `name.0`, `name.1`, …,
 * each of that length but the last. So a token is
 * - the cookie `name`;
 * - the chunks from 0 on, up to the first that is shorter than the one before: what follows is left over from a longer
 *   token;
 * - all the chunks from 0 on up to a gap, should something else than Auth.js have cut them.
 *
 * Other cookies whose names only begin alike, `name-other`, `name.x`, `name.1.2` or `name.01`, are not chunks. Auth.js
 * appends them, and all chunks beyond gaps, to the token.
 *
 * @returns The candidates, without empty or equal ones, the likeliest first.
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
