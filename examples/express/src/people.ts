/** A user of the demo's OpenID Connect provider. */
export interface Person {
  sub: string
  name: string
  /** Optional, because some providers let users hide their address. */
  email?: string
  /** A custom claim. Authwire stores fields that it does not know. */
  role: string
}

/**
 * Difficult test data: the ids of the first two users differ only in case, one name contains markup, and one user has
 * no e-mail address.
 */
export const people: readonly Person[] = [
  { sub: "q7XbK2", name: "Ada Lovelace", email: "ada@demo.example", role: "analyst" },
  { sub: "Q7xBk2", name: "Grace Hopper", email: "grace@demo.example", role: "admiral" },
  {
    sub: "m4RtZ9",
    name: `Robert <script>alert("'tables'")</script> & Sons`,
    email: "robert@demo.example",
    role: "pupil",
  },
  { sub: "z0WwP5", name: "Zoë Ångström", role: "visitor" },
]
