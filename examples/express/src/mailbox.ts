/**
 * A mail server that does not deliver mails. It keeps them in memory and shows them on a page, so that the sign-in link
 * can be clicked without an account at a mail provider. Runs as a process of its own.
 */
import { createServer } from "node:http"
import { text } from "node:stream/consumers"
import express, { type Express } from "express"
import { SMTPServer } from "smtp-server"
import { announce } from "./child.js"
import { host, readConfig } from "./config.js"
import { type Html, html } from "./html.js"
import { listen } from "./listen.js"
import { type Mail, parseMail } from "./mail.js"
import { sendPage } from "./page.js"

const keptMails = 50

function createSmtpServer(mails: Mail[]): SMTPServer {
  return new SMTPServer({
    disabledCommands: ["AUTH", "STARTTLS"],
    disableReverseLookup: true,
    size: 1_000_000,
    onData(stream, session, done) {
      text(stream.setEncoding("latin1")).then((source) => {
        const to = session.envelope.rcptTo.map(({ address }) => address)
        mails.unshift(parseMail(source, to, new Date()))
        mails.length = Math.min(mails.length, keptMails)
        done()
      }, done)
    },
  })
}

function createMailboxPages(mails: readonly Mail[]): Express {
  const pages = express()
  pages.disable("x-powered-by")
  pages.get("/", (_request, response) => response.redirect("/mailbox"))
  pages.get("/mailbox", (_request, response) => {
    const body = mails.length > 0 ? html`${mails.map(mailSection)}` : html`<section><p>No mail yet.</p></section>`
    sendPage(response, 200, "Mailbox", body)
  })
  pages.get("/mailbox.json", (_request, response) => {
    response.set("Cache-Control", "no-store").json(mails)
  })
  return pages
}

function mailSection(mail: Mail): Html {
  return html`<section>
<h2>${mail.subject}</h2>
<dl><dt>To</dt><dd>${mail.to.join(", ")}</dd><dt>Received</dt><dd>${mail.receivedAt}</dd></dl>
<pre>${linked(mail.text.trim())}</pre>
</section>`
}

/**
 * Turns the URLs in a text into links. Only http and https are allowed, because a mail could also contain
 * `javascript:`.
 */
function linked(content: string): Html {
  const pieces = content.split(/(https?:\/\/[^\s<>"]+)/)
  return html`${pieces.map((piece, index) => (index % 2 ? html`<a href="${piece}">${piece}</a>` : html`${piece}`))}`
}

const config = readConfig(process.env)
const mails: Mail[] = []
const smtp = createSmtpServer(mails)
smtp.on("error", (error) => {
  // Until the server listens, `listen` reports errors.
  if (smtp.server.listening) console.error("mailbox:", error.message)
})
const smtpPort = await listen(smtp.server, config.smtpPort, "SMTP_PORT")
const pagesPort = await listen(createServer(createMailboxPages(mails)), config.mailboxPort, "MAILBOX_PORT")
const pagesUrl = `http://${host}:${pagesPort}/mailbox`
announce(`mailbox: listening on smtp://${host}:${smtpPort}, mails at ${pagesUrl}`, {
  smtpUrl: `smtp://${host}:${smtpPort}`,
  mailboxUrl: pagesUrl,
})
