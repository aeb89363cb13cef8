import { expect, test } from "@jest/globals"
import type { Page, PageRequest, SessionFilter, UserFilter } from "../../../server/src/store/types.js"
import {
  type ContractContext,
  createTenant,
  day,
  newAccount,
  newAuthenticator,
  newSession,
  newUser,
} from "./context.js"

type List = (page: PageRequest) => Promise<Page<unknown>>

/** Reads all pages of a list. Each page begins with the token of the previous one. */
export async function allPages<Item>(
  size: number,
  list: (page: PageRequest) => Promise<Page<Item>>,
): Promise<Item[][]> {
  const pages: Item[][] = []
  let token: string | undefined
  do {
    const page = await list({ size, token })
    pages.push(page.items)
    token = page.nextToken
  } while (token !== undefined)
  return pages
}

/**
 * Expects that each list takes its own page token, and neither a broken one nor that of another list.
 *
 * @param lists Lists of two or more items.
 * @param others Further lists, which reject the tokens of all these.
 */
export async function expectOwnTokens(lists: readonly List[], others: readonly List[] = []): Promise<void> {
  const invalid = { reason: "INVALID_FIELD", field: "page_token" }
  for (const list of lists) {
    const { nextToken: token = "" } = await list({ size: 1 })
    expect(token).not.toBe("")
    await list({ size: 1, token })
    for (const [, broken] of brokenTokens(token))
      await expect(list({ size: 1, token: broken })).rejects.toMatchObject(invalid)
    const foreign = [...lists, ...others].filter((one) => one !== list)
    await Promise.all(foreign.map((other) => expect(other({ size: 1, token })).rejects.toMatchObject(invalid)))
  }
}

/** Returns texts that are not tokens of a list, although some look like one. */
function brokenTokens(token: string): [what: string, broken: string][] {
  const parts = token.split(".")
  const text = parts.pop() ?? ""
  return [
    ["text", "42"],
    ["a token with another letter", [...parts, text.replace(/^./, text.startsWith("A") ? "B" : "A")].join(".")],
    ["the beginning of a token", token.slice(0, -8)],
    ["a token and more", `${token}AAAA`],
    ["a position in plain JSON", '["2030-01-01T00:00:00.000Z",""]'],
    ["a token of an unknown key", ["sealed.1.AAAAAAAA", text].join(".")],
  ]
}

/** Declares the test of the tokens of all lists about users. */
export function pageTokenContract(context: ContractContext): void {
  /** Creates users in a new tenant, so that each list has two items or more. */
  async function listsOfTenant(): Promise<List[]> {
    const caller = await createTenant(context)
    const { store, clock } = context
    for (const id of ["u", "v", "disabled 1", "disabled 2"]) {
      await store.users.create(caller, newUser({ id, name: "Ada", email: `ada ${id}` }))
      for (const n of [1, 2]) {
        await store.accounts.link(caller, newAccount(id, { provider: "p", providerAccountId: `${id} ${n}` }))
        const origin = { ip: "i", impersonator: "staff", provider: "p" }
        await store.sessions.create(caller, newSession(id, clock.now + day), origin)
        await store.authenticators.create(caller, newAuthenticator(id))
      }
      if (id.startsWith("disabled")) await store.users.disable(caller, id, {})
    }
    /** The next page is that of another process. */
    const by = ({ token }: PageRequest) => (token === undefined ? context.store : context.other)
    const [since, before] = [new Date(clock.now), new Date(clock.now + 1)]
    const users: UserFilter[] = [
      ...[{}, { createdSince: since }, { createdBefore: before }, { disabled: true }, { disabled: false }],
      ...[{ namePrefix: "a" }, { namePrefix: "ad" }, { emailPrefix: "a" }, { provider: "p" }],
    ]
    const sessions: SessionFilter[] = [
      ...[{}, { ip: "i" }, { impersonated: true as const }, { userId: "u" }, { userId: "v" }],
      ...[{ active: true }, { provider: "p" }, { createdSince: since }].map((filter) => ({ ...filter, userId: "u" })),
    ]
    return [
      ...users.map(
        (filter): List =>
          (page) =>
            by(page).users.list(caller, filter, page),
      ),
      ...sessions.map(
        (filter): List =>
          (page) =>
            by(page).sessions.list(caller, filter, page),
      ),
      ...["u", "v"].flatMap((id): List[] => [
        (page) => by(page).accounts.listByUser(caller, id, page, { tokens: false }),
        (page) => by(page).authenticators.list(caller, id, page),
      ]),
    ]
  }

  test("INVALID_FIELD: a page token that is broken, or of another list, filter, user or tenant", async () => {
    await expectOwnTokens(await listsOfTenant(), await listsOfTenant())
  })
}
