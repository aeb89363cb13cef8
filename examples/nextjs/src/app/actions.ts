"use server"

import { redirect } from "next/navigation"
import { AuthError } from "next-auth"
import { adapter, signIn, signOut, unstable_update } from "@/auth"
import { currentSession } from "@/session"

export async function signInWithProvider() {
  await startSignIn("demo")
}

export async function sendLink(form: FormData) {
  await startSignIn("nodemailer", { email: String(form.get("email")) })
}

export async function leave() {
  await signOut({ redirectTo: "/" })
}

/** Changes the name of the signed-in user. */
export async function rename(form: FormData) {
  const session = await currentSession()
  // The page itself reports the outage.
  if (session === "unavailable") return redirect("/account")
  const id = session?.user?.id
  if (id === undefined) return redirect("/")
  const name = String(form.get("name")).trim().slice(0, 100)
  await adapter.updateUser({ id, name })
  // Updates the name in a JWT session.
  await unstable_update({ user: { name } })
  redirect("/account")
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
