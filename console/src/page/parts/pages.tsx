import { useState } from "preact/hooks"

/** Where in a list the view is: the tokens of the pages up to this one. */
export interface PagesState {
  token: string
  isFirst: boolean
  back: () => void
  next: (token: string) => void
}

/** The pages of a list. Another `list` begins with its first page, because the tokens of a list are of no other. */
export function usePages(list = ""): PagesState {
  const [state, setState] = useState<{ list: string; tokens: readonly string[] }>({ list, tokens: [""] })
  const tokens = state.list === list ? state.tokens : [""]
  const setTokens = (tokens: readonly string[]) => setState({ list, tokens })
  return {
    token: tokens.at(-1) ?? "",
    isFirst: tokens.length === 1,
    back: () => setTokens(tokens.slice(0, -1)),
    next: (token) => setTokens([...tokens, token]),
  }
}

/** The buttons below a list. `next` is the token of the next page, empty on the last. */
export function Pages({ pages, next = "" }: { pages: PagesState; next?: string | undefined }) {
  if (pages.isFirst && next === "") return null
  return (
    <p class="buttons">
      {!pages.isFirst && (
        <button type="button" onClick={pages.back}>
          Previous page
        </button>
      )}
      {next !== "" && (
        <button type="button" onClick={() => pages.next(next)}>
          Next page
        </button>
      )}
    </p>
  )
}
