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

/** Changes the name of whoever is signed in. */
export async function rename(form: FormData) {
  const session = await currentSession()
  // The page says so by itself.
  if (session === "unavailable") return redirect("/account")
  const id = session?.user?.id
  if (id === undefined) return redirect("/")
  const name = String(form.get("name")).trim().slice(0, 100)
  await adapter.updateUser({ id, name })
  // A JWT session has the name in it.
  await unstable_update({ user: { name } })
  redirect("/account")
}

async function startSignIn(provider: string, fields: Record<string, string> = {}) {
  try {
    await signIn(provider, { ...fields, redirectTo: "/account" })
  } catch (error) {
    if (error instanceof AuthError) redirect(`/sign-in-error?error=${error.type}`)
    // Also how Next.js redirects.
    throw error
  }
}
