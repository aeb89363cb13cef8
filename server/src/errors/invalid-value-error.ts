/** An invalid configuration value. The message has the entry's index or name, the field and the rule, never a value. */
export class InvalidValueError extends Error {
  override readonly name = "InvalidValueError"
}
