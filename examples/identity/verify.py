"""Verifies an assertion of Authwire with nothing but the address of the public keys, and prints its claims.

Usage: verify.py JWKS_URL ISSUER AUDIENCE, with the header x-authwire-identity on standard input.
"""

import json
import sys

import jwt

url, issuer, audience = sys.argv[1:]
# One client for the process: it keeps the keys for five minutes, and reads them again for a key that it does not know.
keys = jwt.PyJWKClient(url)
assertion = sys.stdin.read().strip()
try:
    key = keys.get_signing_key_from_jwt(assertion)
    # The issuer has the tenant at its end. Without it a user of another tenant would be taken for one of this tenant.
    claims = jwt.decode(
        assertion,
        key,
        algorithms=["ES256"],
        issuer=issuer,
        audience=audience,
        options={"require": ["exp", "sub"]},
    )
except jwt.PyJWTError as error:
    sys.exit(f"verify: {error}")
print(json.dumps(claims))
