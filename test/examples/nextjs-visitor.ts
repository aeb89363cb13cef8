import { createHash } from "node:crypto"
import type { Browser, BrowserContext, Page } from "@authwire/test-support/applications/chromium.js"
import { type PersonName, person, rows, sessionCookie } from "@authwire/test-support/applications/sign-in.js"
import type { Stack } from "@authwire/test-support/applications/stack.js"
import { until } from "@authwire/test-support/until.js"
import { expect } from "@jest/globals"

/** A person with a browser at examples/nextjs, and what is stored of them. The tests set the browser and the stack. */
export class NextVisitor {
  browser!: Browser
  stack!: Stack
  context!: BrowserContext
  page!: Page

  /** The listed passkeys. */
  readonly shownIn = (one: Page) => one.locator("#passkeys li")
  readonly at = (path: string) => `${this.stack.example.appUrl}${path}`
  readonly cookie = async () => (await this.context.cookies()).find(({ name }) => name === sessionCookie)?.value
  readonly ask = async (path: string, headers: Record<string, string> = {}) => fetch(this.at(path), { headers })
  /** Asks with the session of the browser. */
  readonly asWhoHas = async (path: string) => this.ask(path, { cookie: `${sessionCookie}=${await this.cookie()}` })
  readonly hash = (sessionToken: string | undefined) => createHash("sha256").update(String(sessionToken)).digest()
  readonly sessions = (sessionToken: string | undefined) =>
    rows(this.stack.database, "sessions", "token_hash = ?", [this.hash(sessionToken)])
  readonly usersWith = (email: string) => rows(this.stack.database, "users", "email = ?", [email])

  readonly signInWithProvider = async (name: PersonName) => {
    await this.page.goto(this.at("/"))
    await this.page.click("#sign-in-demo")
    await this.page.click(`button[value="${person(name).sub}"]`)
    await this.page.waitForURL(this.at("/account"))
  }

  readonly signInByMail = async (email: string) => {
    await this.page.goto(this.at("/"))
    await this.page.fill("input[name=email]", email)
    await this.page.click("#send-link")
    await this.page.waitForSelector("#check-mail")
    let link: string | undefined
    await until(async () => {
      const mails = (await this.stack.example.mails()).filter(({ to }) => to.includes(email))
      link = /https?:\S+/.exec(mails[0]?.text ?? "")?.[0]
      return link !== undefined
    })
    await this.page.goto(String(link))
    await this.page.waitForURL(this.at("/account"))
  }

  readonly signOut = async (of = this.page) => {
    await of.click("#sign-out")
    await of.waitForSelector("#sign-in-demo")
  }

  readonly expectSignedOut = async (of = this.page) => {
    await of.goto(this.at("/account"))
    expect(of.url()).toBe(this.at("/"))
    await of.waitForSelector("#sign-in-demo")
  }

  readonly expectSignedIn = async (name: string) => {
    await this.page.goto(this.at("/account"))
    expect(await this.page.textContent("#name")).toBe(name)
  }
}
