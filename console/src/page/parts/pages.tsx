import { useState } from "preact/hooks"

/** Where in a list the view is: the tokens of the pages up to this one. */
export interface PagesState {
  token: string
  isFirst: boolean
  back: () => void
  next: (token: string) => void
  /** Begins again, for another list. */
  reset: () => void
}

export function usePages(): PagesState {
  const [tokens, setTokens] = useState<readonly string[]>([""])
  return {
    token: tokens.at(-1) ?? "",
    isFirst: tokens.length === 1,
    back: () => setTokens(tokens.slice(0, -1)),
    next: (token) => setTokens([...tokens, token]),
    reset: () => setTokens([""]),
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
