import { auth } from "./auth"

/**
 * Answers 503 while Authwire is unavailable. A page alone cannot do that, because a server component cannot choose its
 * status. Redirects requests for the account without a session to the sign-in page.
 */
export const proxy = auth((request) => {
  const isGuarded = request.nextUrl.pathname.startsWith("/account")
  if (isGuarded && request.auth === null) return Response.redirect(new URL("/", request.nextUrl))
})

// All pages, because their layout reads the session. Route handlers answer 503 themselves. Prefetch requests are left
// out: with JWT sessions each answer renews the cookie, and a late answer would restore it after a sign-out.
export const config = {
  matcher: [
    {
      source: "/((?!api/|_next/|favicon.ico).*)",
      missing: [
        { type: "header", key: "next-router-prefetch" },
        { type: "header", key: "purpose", value: "prefetch" },
      ],
    },
  ],
}
