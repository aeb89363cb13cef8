import type { Metadata } from "next"
import { redirect } from "next/navigation"
import { Passkeys } from "@/components/passkeys"
import { Unavailable } from "@/components/unavailable"
import { currentSession } from "@/session"
import { rename } from "../actions"

export const metadata: Metadata = { title: "Account" }

const moment = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "long", timeZone: "UTC" })

export default async function Account() {
  const session = await currentSession()
  if (session === "unavailable") return <Unavailable />
  // Each page checks the session itself, because a request may bypass proxy.ts by mistake.
  const user = session?.user
  if (!session || !user?.id) redirect("/")
  return (
    <>
      <h1>Your account</h1>
      <section className="card">
        <h2>Profile</h2>
        <dl>
          <dt>Name</dt>
          <dd id="name">{user.name || "not given"}</dd>
          <dt>E-mail</dt>
          <dd id="email">{user.email || "not given"}</dd>
          <dt>Role</dt>
          <dd id="role">{user.role || "none"}</dd>
          <dt>Signed in until</dt>
          <dd id="expires">
            <time dateTime={session.expires}>{moment.format(new Date(session.expires))}</time>
          </dd>
        </dl>
        <form action={rename} className="row">
          <input aria-label="New name" defaultValue={user.name ?? ""} maxLength={100} name="name" required />
          <button className="quiet" id="rename" type="submit">
            Change name
          </button>
        </form>
      </section>
      <Passkeys userId={user.id} />
    </>
  )
}
