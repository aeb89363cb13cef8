/** The error for an external problem that prevents the start. The message says what is wrong and how to fix it. */
export class StartError extends Error {
  override readonly name = "StartError"
}
