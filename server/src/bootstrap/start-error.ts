/** Something outside of Authwire is in the way of starting. The message says what, and what to do. */
export class StartError extends Error {
  override readonly name = "StartError"
}
