/** A token, and what it is read with. README.md describes the fields. */
export interface Vector {
  name: string
  clock?: "frozen"
  differsFromAuthCore?: true
  secrets: string[]
  salt: string
  now: number
  token: string
}

/** A token that is read. */
export interface ValidVector extends Vector {
  payload: Record<string, unknown>
}

/** A token that is refused. */
export interface RefusedVector extends Vector {
  code: string
}

/** A request, and what getToken finds in it. */
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

/** What vectors.json holds. */
export interface Vectors {
  version: 1
  valid: ValidVector[]
  refused: RefusedVector[]
  requests: RequestVector[]
}
