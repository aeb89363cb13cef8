/**
 * What is wrong with a list that was given in the configuration: the entry by its index or name, the field, the rule;
 * never a value.
 */
export class GivenError extends Error {
  override readonly name = "GivenError"
}
