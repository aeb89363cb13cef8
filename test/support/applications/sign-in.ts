import { setTimeout as delay } from "node:timers/promises"
import { people } from "../../../examples/express/src/people.js"
import type { Row, TestDatabase } from "../databases/databases.js"
import type { Browser, Page } from "./browser.js"
import type { Example } from "./example.js"

/** The cookie in which Auth.js stores the session token on plain HTTP. */
export const sessionCookie = "authjs.session-token"

export type PersonName = "Ada" | "Grace" | "Robert" | "Zoë"

export function person(name: PersonName) {
  return people.find((candidate) => candidate.name.startsWith(name))!
}

/** Signs a person in with the provider, from the front page to the final page, which is returned. */
export async function signInWithProvider(browser: Browser, { appUrl }: Example, name: PersonName): Promise<Page> {
  const loginPage = await browser.submit(await browser.open(appUrl), "sign-in-demo")
  return browser.submit(loginPage, undefined, { person: person(name).sub })
}

/** Requests a link by e-mail and returns the link that arrived. */
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

/** Returns the front page after the application has reconnected to its server. It tries every second or two. */
export async function homeWhenBack(browser: Browser, { appUrl }: Example): Promise<Page> {
  const deadline = Date.now() + 15_000
  for (;;) {
    const page = await browser.open(appUrl)
    if (page.status === 200 || Date.now() > deadline) return page
    await delay(100)
  }
}

/** Returns rows whose key columns are text. MySQL returns these columns as bytes. */
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

/** Returns all users with that address. */
export function usersWithEmail(database: TestDatabase, email: string | undefined): Promise<Row[]> {
  return rows(database, "users", "email = ?", [email])
}

/** Converts a time of the database to a Date. SQLite stores times as text. */
export function moment(value: unknown): Date {
  return value instanceof Date ? value : new Date(`${String(value).replace(" ", "T").replace(/Z?$/, "Z")}`)
}
