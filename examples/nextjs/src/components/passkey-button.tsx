"use client"

import { signIn } from "next-auth/webauthn"
import { type ReactNode, useState } from "react"

/** Signs in with a passkey, or adds one to the account of the signed-in user. */
export function PasskeyButton({ action, children }: { action: "authenticate" | "register"; children: ReactNode }) {
  const [failed, setFailed] = useState(false)

  async function start() {
    setFailed(false)
    try {
      await signIn("passkey", { action, redirectTo: "/account" })
    } catch {
      // This includes a user who closes the browser's dialog.
      setFailed(true)
    }
  }

  return (
    <>
      <button className="quiet wide" id={`passkey-${action}`} onClick={start} type="button">
        <svg aria-hidden="true" viewBox="0 0 24 24">
          <circle cx="8" cy="14" r="4.5" />
          <path d="m11.5 10.8 8-7.8m-4 4 3 3" />
        </svg>
        {children}
      </button>
      {failed && (
        <p className="soft" id="passkey-failed" role="alert">
          That did not work. Nothing has changed; you can try again.
        </p>
      )}
    </>
  )
}
