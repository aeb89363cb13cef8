/** The result of one check. */
export interface Diagnosis {
  state: "ok" | "warning" | "wrong"
  what: string
  /** The observed state and, if there is a problem, what to do. */
  detail: string
}
