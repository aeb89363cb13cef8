import type { SessionUnavailable } from "./unavailable.js"

/** What is read of a request: one of the Fetch API, or one of Node (`http`, Express). */
export interface UnansweredRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
}

const messages = {
  read: "We cannot check your session at the moment. You have not been signed out.",
  signIn: "We cannot sign you in at the moment. Please try again in a moment.",
}

/** Browsers reload the page less often than programs may retry. */
const minReloadSeconds = 5

/**
 * Creates a response with the status 503 and `Retry-After`.
 *
 * @param request - If it asks for a page, as browsers do, the response is a page that reloads itself, or during a sign-in one
 * with a link that tries again. Without it, and for other requests, the response is `{ "message": … }` in JSON, during a
 * sign-in with the `url` of the sign-in page, to which the script of Auth.js leads. A form action of SvelteKit that a script
 * has called gets `{ "type": "error", "error": { "message": … } }`, which that script expects.
 * @example
 * ```ts
 * const answer = unavailableResponse(error, request)
 * response.status(answer.status).set(Object.fromEntries(answer.headers)).send(await answer.text())
 * ```
 */
export function unavailableResponse(error: SessionUnavailable, request?: UnansweredRequest): Response {
  const header = (name: string) => (request === undefined ? undefined : headerOf(request, name))
  const signIn = request && signInPath(request)
  const message = signIn === undefined ? messages.read : messages.signIn
  const headers = { "cache-control": "no-store", "retry-after": String(error.retryAfterSeconds), vary: "accept" }
  if (header("x-sveltekit-action") !== undefined) {
    return Response.json({ type: "error", error: { message } }, { status: 503, headers })
  }
  if (!header("accept")?.includes("text/html")) {
    const origin = header("origin")
    const url = signIn !== undefined && origin !== undefined ? { url: `${origin}${signIn}?error=Unavailable` } : {}
    return Response.json({ message, ...url }, { status: 503, headers })
  }
  const text =
    signIn === undefined
      ? page(message, reload(Math.max(error.retryAfterSeconds, minReloadSeconds)), "This page tries again by itself.")
      : page(message, "", `<a href="${isRepeatable(request) ? "" : signIn}">Try again</a>`)
  return new Response(text, { status: 503, headers: { ...headers, "content-type": "text/html; charset=utf-8" } })
}

/** Returns the path of the sign-in page if the request is part of a sign-in. */
function signInPath(request: UnansweredRequest): string | undefined {
  const match = /^(.*)\/(?:callback|signin)\/[^/]+$/.exec(urlOf(request).pathname)
  return match === null ? undefined : `${match[1]}/signin`
}

/** Whether the same request can succeed later. The link of an e-mail can, but a provider's code can be used only once. */
function isRepeatable(request: UnansweredRequest | undefined): boolean {
  return request?.method === "GET" && !urlOf(request).searchParams.has("code")
}

const urlOf = ({ url = "" }: UnansweredRequest) => new URL(url, "http://localhost")

function headerOf({ headers }: UnansweredRequest, name: string): string | undefined {
  const value = headers instanceof Headers ? headers.get(name) : headers[name]
  return value == null ? undefined : String(value)
}

const reload = (seconds: number) => `<meta http-equiv="refresh" content="${seconds}">\n`

/** The page has no script and needs no other file, so that it works beside every Content-Security-Policy. */
const page = (message: string, head: string, next: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${head}<title>Please wait a moment</title>
<style>
body { display: grid; place-content: center; min-height: 90vh; margin: 0; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif }
main { max-width: 26rem }
</style>
</head>
<body>
<main id="unavailable">
<h1>Please wait a moment</h1>
<p>${message} ${next}</p>
</main>
</body>
</html>
`
