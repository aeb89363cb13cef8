import type { Metadata } from "next"

export const metadata: Metadata = { title: "Look into your mail" }

export default function CheckMail() {
  return (
    <>
      <h1>Look into your mail</h1>
      <section className="card">
        <p id="check-mail">A link is on its way. It works once, and for a day.</p>
        {process.env.MAILBOX_URL && (
          <a className="button" href={process.env.MAILBOX_URL}>
            Open the demo’s mailbox
          </a>
        )}
      </section>
    </>
  )
}
