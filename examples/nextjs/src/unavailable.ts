import { type SessionUnavailable, unavailableResponse } from "@authwire/client/nextjs"

/** Returns the 503 answer of `proxy.ts` and Auth.js's handlers during an outage. Browsers get it as a page. */
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
body { display: grid; place-content: center; min-height: 100vh; box-sizing: border-box; margin: 0; padding: 1rem; font: 16px/1.55 system-ui, sans-serif; color: light-dark(#16202b, #e8edf2); background: light-dark(#f4f6f9, #0e141b); border-top: .25rem solid light-dark(#2257c9, #86b0ff) }
main { max-width: 26rem; padding: 2rem; background: light-dark(#fff, #161e27); border: 1px solid light-dark(#dbe1e8, #2c3744); border-radius: .9rem }
svg { width: 2rem; fill: none; stroke: light-dark(#2257c9, #86b0ff); stroke-width: 1.9; stroke-linecap: round; stroke-linejoin: round }
h1 { margin: .75rem 0 .35rem; font-size: 1.6rem; line-height: 1.2; letter-spacing: -.02em }
p { margin: 0; color: light-dark(#5a6775, #98a5b3) }
</style>
</head>
<body>
<main id="unavailable">
<svg aria-hidden="true" viewBox="0 0 24 24"><circle cx="12" cy="12" r="9.5"/><path d="M12 6.5V12l3.5 2"/></svg>
<h1>Please wait a moment</h1>
<p>The service that knows who is signed in does not answer. Nobody has been signed out. This page tries again by itself.</p>
</main>
</body>
</html>
`
