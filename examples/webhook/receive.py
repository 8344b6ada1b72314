"""Checks a webhook of the service and keeps the newest event of each order: docs/coupons.md#receiving."""

import base64, hashlib, hmac, json, time

def receive(headers, body: bytes, secret: str, orders: dict) -> int:
    sent = headers["webhook-timestamp"]
    if abs(time.time() - int(sent)) > 300:
        return 400
    key = base64.b64decode(secret.removeprefix("whsec_"))
    text = f'{headers["webhook-id"]}.{sent}.'.encode() + body
    right = "v1," + base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
    if not any(hmac.compare_digest(right, s) for s in headers["webhook-signature"].split(" ")):
        return 401
    event = json.loads(body)
    if event["version"] != 1:
        return 400  # it is sent again, until this program knows it
    subject = event.get("subject", {})  # webhook.test has none
    if subject.get("kind") == "order" and event["number"] > orders.get(subject["id"], {}).get("number", 0):
        orders[subject["id"]] = event  # else it is a repeat, or older
    return 204
