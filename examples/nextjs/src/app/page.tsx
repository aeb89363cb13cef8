import Link from "next/link"
import { Problem } from "@/components/problem"
import { SignIn } from "@/components/sign-in"
import { Unavailable } from "@/components/unavailable"
import { currentSession } from "@/session"

export default async function Home({ searchParams }: PageProps<"/">) {
  const { error } = await searchParams
  const session = await currentSession()
  if (session === "unavailable") return <Unavailable />
  if (session === null) {
    return (
      <>
        <h1>Sign in</h1>
        <p className="lead">Three ways in, one account behind them.</p>
        <Problem code={error} />
        <SignIn />
      </>
    )
  }
  return (
    <>
      <h1>Hello, {session.user?.name || session.user?.email || "you"}</h1>
      <p className="lead">You are signed in until {session.expires.slice(0, 10)}.</p>
      <section className="card">
        <p>Your account page shows what Authwire knows about you, and lets you add a passkey.</p>
        <Link className="button" href="/account">
          Open your account
        </Link>
      </section>
    </>
  )
}
