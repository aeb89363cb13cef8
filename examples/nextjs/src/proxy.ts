import { auth } from "./auth"

/**
 * Answers 503 while it cannot be told who is signed in: a page alone cannot, since a server component cannot choose its
 * status. The account is for those who are signed in; it sends everybody else to the sign-in page.
 */
export const proxy = auth((request) => {
  const isGuarded = request.nextUrl.pathname.startsWith("/account")
  if (isGuarded && request.auth === null) return Response.redirect(new URL("/", request.nextUrl))
})

// All pages, because their layout asks who is signed in; route handlers answer 503 themselves. Not what the browser fetches in
// advance: with JWT sessions each answer renews the cookie, and one that comes late would bring it back after a sign-out.
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
