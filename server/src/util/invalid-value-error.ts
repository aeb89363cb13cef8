/** What is wrong with a value of the configuration: the entry by its index or name, the field, the rule; never a value. */
export class InvalidValueError extends Error {
  override readonly name = "InvalidValueError"
}
