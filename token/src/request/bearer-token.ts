/**
 * Returns the token of an Authorization header `Bearer <token>`, percent-decoded as in Auth.js, or undefined. The
 * scheme must have exactly this case and be followed by one space, because Auth.js accepts no other form.
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
