/** Shared by all copies of this package in a process. It is no property that a caller sees, lists or copies. */
const mark = Symbol.for("authwire.disabled")

/** Marks a user of the adapter as disabled. */
export function markDisabled(user: object): void {
  Object.defineProperty(user, mark, { value: true })
}

/**
 * Returns whether a user was disabled when the adapter read it. The user must be the object that the adapter returned,
 * not a copy of it, as it is in the callback `signIn` of Auth.js. `throwOutages`, `withAuthwire` and `nextAuth4Options` check it there.
 *
 * @example
 * ```ts
 * callbacks: { signIn: ({ user, email }) => email?.verificationRequest === true || !isDisabled(user) }
 * ```
 */
export function isDisabled(user: object): boolean {
  return mark in user
}
