import { expect } from "@jest/globals"
import type { Page, PageRequest } from "../../../server/src/store/types.js"

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
    for (const other of [...lists, ...others].filter((one) => one !== list))
      await expect(other({ size: 1, token })).rejects.toMatchObject(invalid)
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
