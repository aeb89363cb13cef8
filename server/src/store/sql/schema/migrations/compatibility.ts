/** The compatibility of a migration with the previous version of the program. */
export interface Compatibility {
  /**
   * Whether the previous version works on the tables after the migration, so that both versions can run at the same
   * time.
   */
  compatible: boolean
  /** The reason, for operators. */
  reason: string
}
