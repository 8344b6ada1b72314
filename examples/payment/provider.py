"""A payment provider over HTTP in Python, without a library: docs/coupons.md#a-provider-over-http. It moves no money; where
yours calls its payment company is marked with (1) to (4). It remembers in memory; keep yours in a database.
PROVIDER_SECRET=whsec_... SERVICE_URL=http://127.0.0.1:8080/payment/callback/cards PORT=9000 python3 provider.py"""
import base64, hashlib, hmac, json, os, threading, time, urllib.error, urllib.parse, urllib.request, uuid
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = base64.b64decode(os.environ["PROVIDER_SECRET"].removeprefix("whsec_"))
SERVICE, PORT = os.environ["SERVICE_URL"], int(os.environ.get("PORT", "9000"))
payments, lock = {}, threading.RLock()  # by id: {amount, before, state, refunds: {refundId: amount}}

def sign(id, at, body):
    return "v1," + base64.b64encode(hmac.new(KEY, f"{id}.{at}.".encode() + body, hashlib.sha256).digest()).decode()

def is_signed(headers, body):
    id, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "0")
    fresh = at.isdigit() and abs(time.time() - int(at)) < 300
    return fresh and any(hmac.compare_digest(s.encode(), sign(id, at, body).encode()) for s in headers.get("webhook-signature", "").split())

def is_over(before):
    return before is not None and datetime.now(timezone.utc) > datetime.fromisoformat(before.replace("Z", "+00:00"))

def tell(type, data):
    """Tells the service something, again and again until it is answered other than 5xx."""
    id, pause = str(uuid.uuid4()), 0.5
    while True:
        at, body = str(int(time.time())), json.dumps({"type": type, "data": data}).encode()
        headers = {"content-type": "application/json", "webhook-id": id, "webhook-timestamp": at, "webhook-signature": sign(id, at, body)}
        try:
            return urllib.request.urlopen(urllib.request.Request(SERVICE, body, headers), timeout=10).close()
        except urllib.error.HTTPError as refused:
            if refused.code < 500:
                return print(f"the service refuses {type} of {data['id']}: {refused.code}", flush=True)
        except OSError:
            pass
        time.sleep(pause)
        pause = min(2 * pause, 60)

def begin(id, amount, payBefore=None, **_):  # (1) open a checkout, with the id as idempotency key
    payments.setdefault(id, {"amount": amount, "before": payBefore, "state": "open", "refunds": {}})
    return {"id": id, "url": f"http://127.0.0.1:{PORT}/pay/{id}", "reference": f"ch_{id}"}

def cancel(id, **_):  # (2) close it, unless it is paid
    if payments.get(id, {}).get("state") == "paid":
        return {"id": id, "state": "refused", "reason": "it is paid"}
    payments.get(id, {})["state"] = "cancelled"
    return {"id": id, "state": "done"}

def refund(id, refundId, amount, **_):  # (3) send it back, with the refundId as idempotency key
    p = payments.get(id, {"amount": 0, "state": "", "refunds": {}})
    if refundId not in p["refunds"]:
        if p["state"] != "paid" or sum(p["refunds"].values()) + amount > p["amount"]:
            return {"refundId": refundId, "state": "refused", "reason": "not so much is left"}
        p["refunds"][refundId] = amount
    return {"refundId": refundId, "state": "done", "reference": f"re_{refundId}"}

def read(id, refundId, **_):
    known = refundId in payments.get(id, {"refunds": {}})["refunds"]
    return {"refundId": refundId, "state": "done"} if known else {"refundId": refundId, "state": "refused", "reason": "unknown"}

CALLS = {"payment.begin": begin, "payment.cancel": cancel, "refund.create": refund, "refund.read": read}

class Handler(BaseHTTPRequestHandler):
    def answer(self, status, text, type="application/json"):
        self.send_response(status)
        self.send_header("content-type", type)
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        self.do_POST()

    def do_POST(self):
        body, p = self.rfile.read(int(self.headers.get("content-length", 0))), payments.get(self.path.removeprefix("/pay/"))
        if self.path.startswith("/pay/") and p:  # (4) the company's page, and its notices
            id, pressed = self.path.removeprefix("/pay/"), urllib.parse.parse_qs(body.decode()).get("do", [""])[0]
            if pressed == "pay" and p["state"] == "open" and not is_over(p["before"]):
                p["state"] = "paid"
                tell("paid", {"id": id, "amount": p["amount"], "reference": f"ch_{id}"})
            if pressed == "dispute" and p["state"] == "paid":
                tell("disputed", {"id": id, "amount": p["amount"]})
            return self.answer(200, f"<!doctype html><p>{p['amount']}, {p['state']}<form method=post><button name=do value=pay>Pay</button> <button name=do value=dispute>Dispute</button></form>", "text/html")
        if self.command != "POST" or not is_signed(self.headers, body):
            return self.answer(401, "{}")
        call = json.loads(body)
        with lock:
            known = CALLS.get(call["type"])
            self.answer(200, json.dumps(known(**call["data"]))) if known else self.answer(400, "{}")

print(f"listening on {PORT}", flush=True)
ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
