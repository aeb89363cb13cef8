import { type SessionUnavailable, unavailableResponse } from "@authwire/client/nextjs"

/** What `proxy.ts` and the handlers of Auth.js answer when it cannot be told who is signed in: 503, to people as a page. */
export function unavailable(request: Request, error: SessionUnavailable): Response {
  const response = unavailableResponse(error)
  if (!request.headers.get("accept")?.includes("text/html")) return response
  const headers = new Headers(response.headers)
  headers.set("content-type", "text/html; charset=utf-8")
  return new Response(page, { status: response.status, headers })
}

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="5">
<title>Please wait a moment · Authwire</title>
<style>
:root { color-scheme: light dark }
body { display: grid; place-content: center; min-height: 90vh; margin: 0; padding: 1rem; text-align: center; font: 17px/1.6 system-ui, sans-serif }
p { max-width: 30rem; margin: 0 auto; opacity: .75 }
</style>
</head>
<body>
<main id="unavailable">
<h1>Please wait a moment</h1>
<p>The service that knows who is signed in does not answer. Nobody has been signed out. This page tries again by itself.</p>
</main>
</body>
</html>
`
