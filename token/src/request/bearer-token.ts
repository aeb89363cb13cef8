/**
 * The token of an Authorization header `Bearer <token>`, percent-decoded as Auth.js does it, or undefined. The scheme is
 * written exactly so and one space follows: Auth.js accepts no other form.
 */
export function bearerToken(authorization: string): string | undefined {
  const [scheme, credentials] = authorization.split(" ", 2)
  if (scheme !== "Bearer" || !credentials) return undefined
  try {
    return decodeURIComponent(credentials)
  } catch {
    return undefined
  }
}
