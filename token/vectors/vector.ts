/** A token and the inputs of its decoding. README.md describes the fields. */
export interface Vector {
  name: string
  clock?: "frozen"
  differsFromAuthCore?: true
  secrets: string[]
  salt: string
  now: number
  token: string
}

/** A token that decode accepts. */
export interface ValidVector extends Vector {
  payload: Record<string, unknown>
}

/** A token that decode rejects. */
export interface RefusedVector extends Vector {
  code: string
}

/** A request and the result of getToken for it. */
export interface RequestVector {
  name: string
  differsFromAuthCore?: true
  headers: [name: string, value: string][]
  cookieName?: string
  secureCookie?: boolean
  salt?: string
  secrets: string[]
  raw?: true
  now: number
  payload: Record<string, unknown> | string | null
}

/** The content of vectors.json. */
export interface Vectors {
  version: 1
  valid: ValidVector[]
  refused: RefusedVector[]
  requests: RequestVector[]
}
