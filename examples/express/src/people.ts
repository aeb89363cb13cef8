/** Someone who has an account at the demo's OpenID Connect provider. */
export interface Person {
  sub: string
  name: string
  /** Some providers let people hide their address. */
  email?: string
  /** A claim of our own: Authwire keeps fields that it does not know. */
  role: string
}

/**
 * Chosen to be awkward: the ids of the first two differ only in case, one name is an attempt at markup, and one person
 * shows no e-mail address.
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
