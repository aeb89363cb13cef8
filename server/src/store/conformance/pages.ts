import type { Page, PageRequest } from "../types.js"

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

/** Returns texts that are not tokens of a list, although some look like one. */
export function brokenTokens(token: string): [what: string, broken: string][] {
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
