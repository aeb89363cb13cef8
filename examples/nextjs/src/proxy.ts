import { auth } from "./auth"

/** Lets in who is signed in, sends everybody else to the sign-in page, and answers 503 while neither can be told. */
export const proxy = auth((request) => {
  if (request.auth === null) return Response.redirect(new URL("/", request.nextUrl))
})

export const config = { matcher: ["/account/:path*"] }
