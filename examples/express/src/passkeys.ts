import { fileURLToPath } from "node:url"
import express, { type Router } from "express"
import { type Html, html } from "./html.js"

/** The URL of the script, for pages with passkey forms. */
export const passkeyScript = "/assets/passkey.js"

/** Serves the script and the library that it imports. */
export function passkeyAssets(): Router {
  const library = fileURLToPath(import.meta.resolve("@simplewebauthn/browser"))
  return express
    .Router()
    .get("/simplewebauthn.js", (_request, response) => response.sendFile(library))
    .use(express.static(fileURLToPath(new URL("../public", import.meta.url))))
}

/** The forms for a visitor without a session: sign in with a passkey, or create an account with one. */
export function passkeySignIn(): Html {
  const address = html`<input type="email" name="email" placeholder="you@example.com" aria-label="E-mail address"
autocomplete="username webauthn" required>`
  return section(
    "With a passkey",
    html`${form("sign-in-passkey", "authenticate", "Sign in with a passkey")}
${form("register-passkey", "register", "Create an account", address)}`,
  )
}

/** The form for a signed-in user: add a passkey. */
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

/** The script makes the form visible. Auth.js validates it with the challenge in its cookie. */
function form(id: string, action: "authenticate" | "register", text: string, input?: Html): Html {
  return html`<form id="${id}" class="row" method="post" action="/auth/callback/passkey" data-action="${action}" hidden>
<input type="hidden" name="action" value="${action}">
<input type="hidden" name="data">
<input type="hidden" name="callbackUrl" value="/">
${input}<button>${text}</button>
</form>`
}
