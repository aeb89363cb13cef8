/**
 * What is wrong with a list that was given in the configuration: the entry by its index or name, the field, the rule;
 * never a value.
 */
export class StaticKeyError extends Error {
  override readonly name = "StaticKeyError"
}
