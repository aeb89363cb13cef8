/** An option violates a rule. The message names the option and the rule, and never repeats a secret. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError"
}
