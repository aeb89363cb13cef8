import type { Session } from "@auth/express"
import { type Html, html } from "./html.js"

/** The page for a signed-in user. */
export function signedIn({ user, expires }: Session, csrfToken: string): Html {
  return html`<section>
<dl>
<dt>Name</dt><dd id="name">${user?.name ?? "unknown"}</dd>
<dt>E-mail</dt><dd id="email">${user?.email ?? "unknown"}</dd>
<dt>Role</dt><dd id="role">${user?.role ?? "none"}</dd>
<dt>Session until</dt><dd id="expires">${expires}</dd>
</dl>
<form id="sign-out" method="post" action="/auth/signout">
<input type="hidden" name="csrfToken" value="${csrfToken}">
<button>Sign out</button>
</form>
</section>`
}

/** The page for a visitor without a session. */
export function signedOut(csrfToken: string): Html {
  return html`<section>
<h2>With an account elsewhere</h2>
<form id="sign-in-demo" method="post" action="/auth/signin/demo">
<input type="hidden" name="csrfToken" value="${csrfToken}">
<input type="hidden" name="callbackUrl" value="/">
<button>Sign in with the demo provider</button>
</form>
</section>
<section>
<h2>With a link by e-mail</h2>
<form id="sign-in-email" class="row" method="post" action="/auth/signin/nodemailer">
<input type="hidden" name="csrfToken" value="${csrfToken}">
<input type="hidden" name="callbackUrl" value="/">
<input type="email" name="email" placeholder="you@example.com" aria-label="E-mail address" required>
<button>Send a link</button>
</form>
</section>`
}
