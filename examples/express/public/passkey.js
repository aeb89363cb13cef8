// Passkeys: Auth.js provides the options, the browser passes them to the authenticator, and the answer is sent as a
// form.
import { browserSupportsWebAuthn, startAuthentication, startRegistration } from "./simplewebauthn.js"

const section = document.getElementById("passkeys")
const message = document.getElementById("passkey-message")

const asks = { register: startRegistration, authenticate: startAuthentication }

/** The messages for the user, by the name of the browser's error. */
const texts = {
  NotAllowedError: "Nothing happened: it was cancelled, or took too long.",
  InvalidStateError: "This device has a passkey for this account already.",
}

function say(...content) {
  message.replaceChildren(...content)
  message.hidden = false
}

async function answerOf(form) {
  const { action } = form.dataset
  const query = new URLSearchParams({ action })
  const email = form.elements.namedItem("email")
  if (email) query.set("email", email.value)
  const response = await fetch(`/auth/webauthn-options/passkey?${query}`)
  if (response.status === 400) throw new Error("Somebody has this address. Sign in as before, then add a passkey.")
  if (!response.ok) throw new Error("The service does not answer. Please try again.")
  const { options } = await response.json()
  return asks[action](options)
}

async function submit(event) {
  event.preventDefault()
  const form = event.currentTarget
  const button = form.querySelector("button")
  button.disabled = true
  say("Your browser asks for the passkey: use your fingerprint, your PIN or your security key.")
  try {
    form.elements.namedItem("data").value = JSON.stringify(await answerOf(form))
    form.submit()
  } catch (error) {
    say(texts[error.name] ?? error.message)
  } finally {
    button.disabled = false
  }
}

if (!browserSupportsWebAuthn()) say("This browser knows no passkeys.")
else if (/^[\d.]+$/.test(location.hostname)) {
  // A passkey belongs to a domain name, which an IP address is not.
  const link = document.createElement("a")
  link.href = `http://localhost:${location.port}/`
  link.textContent = link.href
  say("Passkeys belong to a name, not to an address: open ", link)
} else {
  for (const form of section.querySelectorAll("form")) {
    form.addEventListener("submit", submit)
    form.hidden = false
  }
}
