import type { Response } from "express"
import { Html, html } from "./html.js"

const style = new Html(`
:root { color-scheme: light dark; --ink: #1c2733; --soft: #5b6875; --line: #d9dfe5; --ground: #f3f5f7; --card: #fff; --accent: #1f5fbf; --bad: #a3262a }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6ebf0; --soft: #9aa7b4; --line: #313c48; --ground: #12181f; --card: #1a222b; --accent: #7fb0f5; --bad: #ff9a9a }
}
* { box-sizing: border-box }
body { margin: 0; padding: 3rem 1rem; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
main { max-width: 34rem; margin: 0 auto }
h1 { margin: 0 0 1.25rem; font-size: 1.5rem; line-height: 1.25 }
h2 { margin: 0 0 .75rem; font-size: 1rem }
section { margin: 0 0 1rem; padding: 1.25rem 1.5rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; overflow-wrap: anywhere }
section > :last-child { margin-bottom: 0 }
p { margin: 0 0 .75rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1.25rem; margin: 0 0 1.25rem }
dt { color: var(--soft) }
dd { margin: 0 }
form { margin: 0 }
form + form { margin-top: .6rem }
.row { display: flex; gap: .5rem }
[hidden] { display: none }
input { flex: 1; min-width: 0; padding: .55rem .75rem; font: inherit; color: inherit; background: transparent; border: 1px solid var(--line); border-radius: .4rem }
button { padding: .55rem 1rem; font: inherit; font-weight: 600; color: var(--card); background: var(--accent); border: 1px solid var(--accent); border-radius: .4rem; cursor: pointer }
button.plain { color: var(--accent); background: transparent; border-color: var(--line) }
button.person { display: block; width: 100%; text-align: left; color: inherit; background: transparent; border-color: var(--line) }
button small { display: block; font-weight: 400; color: var(--soft) }
a { color: var(--accent) }
pre { margin: 0 0 .75rem; white-space: pre-wrap; font: .85rem/1.5 ui-monospace, monospace }
footer { color: var(--soft); font-size: .9rem }
.soft { color: var(--soft) }
.bad { border-color: var(--bad); color: var(--bad) }
`)

/**
 * Sends a complete page with the style sheet. Its headers prevent all scripts, so that an injected script cannot run.
 * Only a page with a `script` may load scripts, from the application's own origin.
 */
export function sendPage(response: Response, status: number, title: string, body: Html, script?: string): void {
  const own = script === undefined ? "" : "; script-src 'self'; connect-src 'self'"
  response
    .status(status)
    .set({
      "Cache-Control": "no-store",
      "Content-Security-Policy": `default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'${own}`,
      "Referrer-Policy": "same-origin",
      "X-Content-Type-Options": "nosniff",
    })
    .type("html")
    .send(
      html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${style}</style>
${script !== undefined && html`<script type="module" src="${script}"></script>`}
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>`.markup,
    )
}
