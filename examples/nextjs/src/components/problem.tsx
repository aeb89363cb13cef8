const texts: Record<string, string> = {
  AccessDenied: "You are not allowed to sign in here.",
  OAuthAccountNotLinked:
    "That address belongs to somebody who signs in another way. Sign in as before: two accounts are not joined on an address alone.",
  OAuthCallbackError: "The provider did not sign you in. Perhaps you cancelled.",
  Verification: "This link has been used already, it is too old, or it is not the one that was sent.",
  WebAuthnVerificationError: "That passkey was not accepted.",
}

/** Shows why a sign-in failed. `code` is a code of Auth.js, but comes from the URL, so it can have any value. */
export function Problem({ code }: { code: string | string[] | undefined }) {
  if (code === undefined) return null
  const known = typeof code === "string" && Object.hasOwn(texts, code) ? texts[code] : undefined
  return (
    <p className="card bad" id="problem" role="alert">
      {known ?? "Signing in failed, and the fault is on our side. Please try again."}
    </p>
  )
}
