"""Verifies a delivery with the library of Standard Webhooks: verify.py SECRET, with the delivery as JSON, `headers` and `text`, on standard
input. Prints the body."""

import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

delivery = json.load(sys.stdin)
try:
    Webhook(sys.argv[1]).verify(delivery["text"], delivery["headers"])
except WebhookVerificationError as error:
    sys.exit(f"verify: {error}")
print(delivery["text"])
