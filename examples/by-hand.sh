#!/bin/sh
# The HTTP interface by hand, one request after the other: docs/http.md. From the root of a checkout, beside "make run", or
# of an archive, beside "./server", with new data: it buys, follows, pays, gets the money back, creates a sale and changes
# another.
set -eu
site=${SITE:-http://localhost:8080}
server=./server
[ -x "$server" ] || { make -s build; server=./bin/server; }
buyer=$("$server" token -user 42)
admin=$("$server" token -user 1 -role admin)
as_buyer() { curl -sS -H "Authorization: Bearer $buyer" "$@"; echo; }
as_admin() { curl -sS -H "Authorization: Bearer $admin" -H 'Content-Type: application/json' "$@"; echo; }

# What is on sale in shop 1?
curl -sS "$site/voucher/list/1"; echo

# Buy voucher 1, as user 42. Buy again: the same order id.
as_buyer -i -X POST "$site/voucher/seckill/1"
as_buyer -i -X POST "$site/voucher/seckill/1"

# The id of my newest order. Follow it for some seconds: every change arrives as an event.
id=$(as_buyer "$site/order" | grep -o '"id":"[0-9]*' | head -1 | tr -dc 0-9)
as_buyer -N --max-time 3 "$site/order/$id/events" 2>/dev/null &

# Pay for it, at the payUrl of this answer, where the button of the sandbox's page is a POST. Then ask for the money back.
page=$(as_buyer -X POST "$site/order/$id/pay" | grep -o '/sandbox/pay/[^"]*')
curl -sS -o /dev/null -X POST "$site$page"
as_buyer -X POST "$site/order/$id/refund"

# Buy the ordinary voucher 3, which anybody may any number of times.
as_buyer -X POST "$site/voucher/buy/3" -H "Idempotency-Key: $(date +%s)"

# Create a sale, as an admin: five of a coupon worth 100.00 for 10.00, until the end of 2030.
as_admin -X POST "$site/voucher/seckill" -d '{
  "shopId": 1, "title": "100 for 10", "payValue": 1000, "actualValue": 10000,
  "stock": 5, "beginTime": "2026-01-01T00:00:00Z", "endTime": "2030-12-31T23:59:59Z"}'

# Change the first sale while it runs: five more units, once for each key.
as_admin -X POST "$site/voucher/1/stock" -H "Idempotency-Key: $(date +%s)" -d '{"delta": 5}'
wait || true
