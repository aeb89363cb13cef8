import { fileURLToPath } from "node:url"
import express, { type Router } from "express"
import { type Html, html } from "./html.js"

/** Where the script of the forms is, for pages that have them. */
export const passkeyScript = "/assets/passkey.js"

/** Serves the script, and the library that it imports, to browsers. */
export function passkeyAssets(): Router {
  const library = fileURLToPath(import.meta.resolve("@simplewebauthn/browser"))
  return express
    .Router()
    .get("/simplewebauthn.js", (_request, response) => response.sendFile(library))
    .use(express.static(fileURLToPath(new URL("../public", import.meta.url))))
}

/** For somebody who is not signed in: with a passkey that is there, or as somebody new with the first one. */
export function passkeySignIn(): Html {
  const address = html`<input type="email" name="email" placeholder="you@example.com" aria-label="E-mail address"
autocomplete="username webauthn" required>`
  return section(
    "With a passkey",
    html`${form("sign-in-passkey", "authenticate", "Sign in with a passkey")}
${form("register-passkey", "register", "Create an account", address)}`,
  )
}

/** For somebody who is signed in: one more passkey. */
export function addPasskey(): Html {
  return section("Passkeys", form("add-passkey", "register", "Add a passkey"))
}

function section(title: string, forms: Html): Html {
  return html`<section id="passkeys">
<h2>${title}</h2>
${forms}
<p id="passkey-message" role="status" hidden></p>
<noscript><p>Passkeys need JavaScript.</p></noscript>
</section>`
}

/** The script shows it. Auth.js knows by the challenge in its cookie that the form is its own. */
function form(id: string, action: "authenticate" | "register", text: string, input?: Html): Html {
  return html`<form id="${id}" class="row" method="post" action="/auth/callback/passkey" data-action="${action}" hidden>
<input type="hidden" name="action" value="${action}">
<input type="hidden" name="data">
<input type="hidden" name="callbackUrl" value="/">
${input}<button>${text}</button>
</form>`
}
