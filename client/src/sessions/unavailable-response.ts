import type { SessionUnavailable } from "./unavailable.js"

const message = "We cannot check your session at the moment. You have not been signed out."

/** Browsers reload the page less often than programs may retry. */
const minReloadSeconds = 5

/**
 * Creates a response with the status 503 and `Retry-After`.
 *
 * @param request - If it asks for a page, as browsers do, the response is a page that reloads itself. Without it, and for
 * other requests, the response is `{ "message": … }` in JSON.
 */
export function unavailableResponse(error: SessionUnavailable, request?: Request): Response {
  const seconds = String(error.retryAfterSeconds)
  const headers = { "cache-control": "no-store", "retry-after": seconds, vary: "accept" }
  if (!request?.headers.get("accept")?.includes("text/html"))
    return Response.json({ message }, { status: 503, headers })
  return new Response(page(Math.max(error.retryAfterSeconds, minReloadSeconds)), {
    status: 503,
    headers: { ...headers, "content-type": "text/html; charset=utf-8" },
  })
}

/** The page has no script and needs no other file, so that it works beside every Content-Security-Policy. */
const page = (seconds: number) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="${seconds}">
<title>Please wait a moment</title>
<style>
body { display: grid; place-content: center; min-height: 90vh; margin: 0; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif }
main { max-width: 26rem }
</style>
</head>
<body>
<main id="unavailable">
<h1>Please wait a moment</h1>
<p>${message} This page tries again by itself.</p>
</main>
</body>
</html>
`
