/** Whether a version may go on serving on tables that are newer than it. */
export interface Compatibility {
  /** Whether the version before the migration works on the tables that it leaves, so that both may serve at once. */
  compatible: boolean
  /** Why, in words for operators. */
  reason: string
}
