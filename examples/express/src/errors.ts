import { type Html, html } from "./html.js"

/** The messages for errors that Auth.js reports on the sign-in page, by error code. */
const signInErrors: Record<string, string> = {
  OAuthAccountNotLinked:
    "That address belongs to somebody who signs in another way. Sign in as before: two accounts are not joined on an address alone.",
  AccountNotLinked: "This passkey belongs to somebody else.",
  OAuthCallbackError: "The provider did not sign you in. Perhaps you cancelled.",
  MissingCSRF: "This form had been open for too long. Please try again.",
}

/**
 * The pages for errors that end a sign-in, by error code. Auth.js reports all errors that the user did not cause as
 * `Configuration`.
 */
const finalErrors: Record<string, ErrorPage> = {
  AccessDenied: { status: 403, title: "Not allowed", text: "You are not allowed to sign in here." },
  Verification: {
    status: 403,
    title: "This link does not work",
    text: "It has been used already, it is too old, or it is not the one that was sent.",
  },
  WebAuthnVerificationError: {
    status: 403,
    title: "This passkey does not work",
    text: "What the authenticator answered does not fit to what is known of it.",
  },
}

const ourFault: ErrorPage = {
  status: 500,
  title: "Signing in failed",
  text: "The fault is on our side, and you have not been signed in. The log of the application says why.",
}

interface ErrorPage {
  status: number
  title: string
  text: string
}

/** Returns the message for the top of the sign-in page. `code` comes from the URL, so it can have any value. */
export function signInError(code: unknown): Html | undefined {
  if (code === undefined) return undefined
  return html`<section class="bad"><p id="error">${lookUp(signInErrors, code) ?? "Signing in failed."}</p></section>`
}

export function errorPage(code: unknown): ErrorPage {
  return lookUp(finalErrors, code) ?? ourFault
}

function lookUp<T>(texts: Record<string, T>, code: unknown): T | undefined {
  return typeof code === "string" && Object.hasOwn(texts, code) ? texts[code] : undefined
}
