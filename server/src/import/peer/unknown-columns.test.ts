import { expect, test } from "@jest/globals"
import { looksSecret } from "./mapping.js"

const secrets = [
  ..."password PASSWORD passwordHash password_hash encrypted_password passwd pwd pw hashedPw passhash passwort".split(
    " ",
  ),
  ..."salt user_salt secret clientSecret totp_secret totpSecret OTP otp_code userotp mfa mfaEnabled MFASeed".split(" "),
  ..."two_factor_backup 2fa token resetToken apiKey API_KEY api-key privatekey pin userPin userpin SSN user_ssn".split(
    " ",
  ),
  ..."bcrypt argon2id mnemonic seed_phrase activation_code confirmationCode login_code accessCode".split(" "),
  ..."recovery_codes backupCodes verification_code securityAnswer credentials pass".split(" "),
]
const others = [
  ..."nickname role plan shippingAddress opinion footprint className passport compass locale bio phone company".split(
    " ",
  ),
  ..."createdAt updated_at stripeCustomerId lastLogin isAdmin country keyboard spinner".split(" "),
]

test.each(secrets)("%s looks like a secret", (name) => expect(looksSecret(name)).toBe(true))

test.each(others)("%s does not", (name) => expect(looksSecret(name)).toBe(false))
