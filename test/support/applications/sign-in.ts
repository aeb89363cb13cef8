import { setTimeout as delay } from "node:timers/promises"
import { people } from "../../../examples/express/src/people.js"
import type { Row, TestDatabase } from "../databases/databases.js"
import type { Browser, Page } from "./browser.js"
import type { Example } from "./example.js"

/** The name of the cookie in which Auth.js keeps the session token on plain HTTP. */
export const sessionCookie = "authjs.session-token"

export type PersonName = "Ada" | "Grace" | "Robert" | "Zoë"

export function person(name: PersonName) {
  return people.find((candidate) => candidate.name.startsWith(name))!
}

/** Everything that a person does to sign in with the provider, from the front page to whatever page comes at the end. */
export async function signInWithProvider(browser: Browser, { appUrl }: Example, name: PersonName): Promise<Page> {
  const loginPage = await browser.submit(await browser.open(appUrl), "sign-in-demo")
  return browser.submit(loginPage, undefined, { person: person(name).sub })
}

/** Asks for a link by e-mail and returns the one that arrived. */
export async function requestLink(browser: Browser, example: Example, email: string): Promise<URL> {
  const known = new Set((await example.mails()).map(({ text }) => text))
  const page = await browser.submit(await browser.open(example.appUrl), "sign-in-email", { email })
  if (page.url.pathname !== "/check-mail") throw new Error(`no mail was promised:\n${example.output()}`)
  for (let tries = 0; tries < 100; tries++) {
    const mails = (await example.mails()).filter(({ to, text }) => to.includes(email.toLowerCase()) && !known.has(text))
    const link = /https?:\S+/.exec(mails[0]?.text ?? "")?.[0]
    if (link) return new URL(link)
    await delay(50)
  }
  throw new Error(`no mail for ${email} arrived:\n${example.output()}`)
}

/** The front page, once the application reaches its server again: it tries to connect every second or two. */
export async function homeWhenBack(browser: Browser, { appUrl }: Example): Promise<Page> {
  const deadline = Date.now() + 15_000
  for (;;) {
    const page = await browser.open(appUrl)
    if (page.status === 200 || Date.now() > deadline) return page
    await delay(100)
  }
}

/** Rows with their key columns as text: MySQL gives bytes. */
export async function rows(database: TestDatabase, table: string, where = "1 = 1", params: unknown[] = []) {
  const found = await database.query(`SELECT * FROM ${table} WHERE ${where}`, params)
  return found.map((row): Row => {
    const texts = Object.entries(row).map(([column, value]) => [
      column,
      value instanceof Uint8Array && column !== "token_hash" ? Buffer.from(value).toString("utf8") : value,
    ])
    return Object.fromEntries(texts)
  })
}

/** The user with that address, as often as there is one. */
export function usersWithEmail(database: TestDatabase, email: string | undefined): Promise<Row[]> {
  return rows(database, "users", "email = ?", [email])
}

/** A moment of the database as a Date: SQLite keeps text. */
export function moment(value: unknown): Date {
  return value instanceof Date ? value : new Date(`${String(value).replace(" ", "T").replace(/Z?$/, "Z")}`)
}
