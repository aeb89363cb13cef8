import type { Metadata } from "next"
import Link from "next/link"
import { connection } from "next/server"
import { type ReactNode, Suspense } from "react"
import { currentSession } from "@/session"
import { leave } from "./actions"
import "./globals.css"

export const metadata: Metadata = { title: { default: "Authwire", template: "%s · Authwire" } }

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        <header>
          <Link className="brand" href="/">
            <svg aria-hidden="true" viewBox="0 0 24 24">
              <path d="M12 2 4 5.5v6c0 4.8 3.3 8.8 8 10.5 4.7-1.7 8-5.7 8-10.5v-6z" />
              <path d="m8.5 12 2.5 2.5 4.5-5" />
            </svg>
            Authwire
          </Link>
          <Suspense>
            <Navigation />
          </Suspense>
        </header>
        <main>
          <Suspense>{children}</Suspense>
        </main>
        <footer>
          Next.js and Auth.js, with everything they have to remember in Authwire.
          <Suspense>
            <Mailbox />
          </Suspense>
        </footer>
      </body>
    </html>
  )
}

async function Navigation() {
  const session = await currentSession()
  if (session === null || session === "unavailable") return null
  return (
    <nav>
      <Link href="/account">Account</Link>
      <form action={leave}>
        <button className="quiet" id="sign-out" type="submit">
          Sign out
        </button>
      </form>
    </nav>
  )
}

/** Reads the environment of the running server. Without `connection` it would be that of the build. */
async function Mailbox() {
  await connection()
  const url = process.env.MAILBOX_URL
  if (url === undefined) return null
  return (
    <>
      {" "}
      <a href={url}>The demo’s mailbox</a>
    </>
  )
}
