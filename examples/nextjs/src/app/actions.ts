"use server"

import { federatedSignOut } from "@authwire/client/nextjs"
import { cookies } from "next/headers"
import { redirect } from "next/navigation"
import { AuthError } from "next-auth"
import { adapter, authenticators, authwire, signIn, signOut, unstable_update } from "@/auth"
import { currentSession } from "@/session"

export async function signInWithProvider() {
  await startSignIn("demo")
}

export async function sendLink(form: FormData) {
  await startSignIn("nodemailer", { email: String(form.get("email")) })
}

/** Signs the user out here, and at the provider if Authwire has a file of providers that names its issuer. */
export async function leave() {
  // The name on plain HTTP. With HTTPS it begins with __Secure-.
  const sessionToken = (await cookies()).get("authjs.session-token")?.value
  const postLogoutRedirectUri = new URL("/", process.env.AUTH_URL ?? "http://localhost:3000").href
  const address =
    sessionToken && (await federatedSignOut({ sessionToken }, { client: authwire, postLogoutRedirectUri }))
  await signOut({ redirect: false })
  redirect(address || "/")
}

/** Changes the name of the signed-in user. */
export async function rename(form: FormData) {
  const id = await signedInUser()
  const name = nameIn(form)
  await adapter.updateUser({ id, name })
  // Updates the name in a JWT session.
  await unstable_update({ user: { name } })
  redirect("/account")
}

/** Names a passkey of the signed-in user. */
export async function namePasskey(form: FormData) {
  // The user id ensures that users can only change their own passkeys, whatever id the form contains.
  const [userId, credentialId] = [await signedInUser(), String(form.get("id"))]
  await unlessGone(authenticators.updateAuthenticator({ credentialId, displayName: nameIn(form), userId }))
  redirect("/account")
}

/** Removes a passkey of the signed-in user. */
export async function removePasskey(form: FormData) {
  const [userId, credentialId] = [await signedInUser(), String(form.get("id"))]
  const removed = await unlessGone(authenticators.deleteAuthenticator({ credentialId, userId }))
  // Auth.js has linked an account for the passkey, which is of no use without it.
  const providerAccountId = removed?.authenticator?.providerAccountId
  if (providerAccountId !== undefined) await adapter.unlinkAccount({ provider: "passkey", providerAccountId })
  redirect("/account")
}

/** Returns the id of the signed-in user. Without one, and during an outage, another page takes over. */
async function signedInUser(): Promise<string> {
  const session = await currentSession()
  // The page itself reports the outage.
  if (session === "unavailable") redirect("/account")
  return session?.user?.id ?? redirect("/")
}

function nameIn(form: FormData): string {
  return [...String(form.get("name")).trim()].slice(0, 100).join("")
}

/** Returns undefined if the passkey does not exist: another window of the user may have removed it. */
async function unlessGone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "NOT_FOUND") return undefined
    throw error
  }
}

async function startSignIn(provider: string, fields: Record<string, string> = {}) {
  try {
    await signIn(provider, { ...fields, redirectTo: "/account" })
  } catch (error) {
    if (error instanceof AuthError) redirect(`/sign-in-error?error=${error.type}`)
    // Next.js also throws an error for a redirect.
    throw error
  }
}
