import { sendLink, signInWithProvider } from "@/app/actions"
import { PasskeyButton } from "./passkey-button"

/** The three ways to sign in. The first two work without JavaScript. */
export function SignIn() {
  return (
    <section className="card ways">
      <form action={signInWithProvider}>
        <button id="sign-in-demo" type="submit">
          Continue with the demo provider
        </button>
      </form>
      <PasskeyButton action="authenticate">Use a passkey</PasskeyButton>
      <p className="or">or with a link by e-mail</p>
      <form action={sendLink} className="row">
        <input
          aria-label="E-mail address"
          autoComplete="email"
          name="email"
          placeholder="you@example.com"
          required
          type="email"
        />
        <button className="quiet" id="send-link" type="submit">
          Send a link
        </button>
      </form>
    </section>
  )
}
