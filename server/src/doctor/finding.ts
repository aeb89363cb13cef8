/** What was looked at, and how it is. */
export interface Diagnosis {
  state: "ok" | "warning" | "wrong"
  what: string
  /** How it is and, if it is not well, what to do. */
  detail: string
}
