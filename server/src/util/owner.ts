/** Whose share of a limit is used: a key is a part of its tenant. An id of a key belongs to one tenant only. */
export interface Owner {
  readonly tenant: string
  /** The id of the API key; undefined for callers that need none, as with `--dev`. */
  readonly keyId: string | undefined
}
