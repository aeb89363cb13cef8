import type { Metadata } from "next"
import Link from "next/link"
import { Problem } from "@/components/problem"

export const metadata: Metadata = { title: "Not signed in" }

export default async function SignInError({ searchParams }: PageProps<"/sign-in-error">) {
  const { error } = await searchParams
  return (
    <>
      <h1>You have not been signed in</h1>
      <Problem code={error ?? "Configuration"} />
      <Link className="button" href="/">
        Start again
      </Link>
    </>
  )
}
