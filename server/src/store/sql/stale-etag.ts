import { StoreError } from "../../errors/store-error.js"

/** Throws STALE_ETAG if an etag is given and is not the current one. */
export function checkEtag(given: string | undefined, current: string): void {
  if (given !== undefined && given !== current) throw staleEtag()
}

export function staleEtag(): StoreError {
  return new StoreError("STALE_ETAG", "the etag is not the current one")
}
