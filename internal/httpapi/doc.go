// Package httpapi is the service's HTTP face: routes, requests and answers, the error table, and who may call what.
//
// # A request
//
//	route → is there room → who is it (token) → may he ask again → path, query, header, body → the domain → answer or error
//	→ one writer
//
// The domain is what Config names: voucher.Service for vouchers and their changes; order.Desk for purchases in a sale,
// for owners' orders and for watching one; order.Storefront for ordinary vouchers; order.Clerk for cancelling, histories
// and admins' searches; order.Cashier and a provider's Notices for payments. The table of routes is in api.go; router.go
// says why two engines serve it. The routes of a part that is not configured do not exist.
//
// A handler returns an answer or an error and never writes by itself, so that a forgotten return after a refusal
// cannot happen: the adapter in route.go is the only place that writes, logs and counts. The one exception is a stream.
//
// # Answers
//
// Success is {"success":true,"data":…}, in lists with "total", "serverTime" for vouchers, and "next", the cursor of
// the following page, where there may be one. A voucher that is asked for alone carries serverTime inside data.
//
// Failure is a problem document (RFC 9457, application/problem+json): type, title, status and detail in English for
// developers; code, stable, for programs; success:false and errorMsg for clients of the plain envelope and for people,
// in the language that Accept-Language asks for. INVALID adds errors, a list of {field, reason, allowed};
// ALREADY_BOUGHT adds data with the order that the user has, ORDER_STATE with the order and the state that it is in,
// INSUFFICIENT_STOCK with how many units are left. The type is a URN (urn:seckill:problem:sold-out): it names
// the problem and is not meant to be fetched. The request id is in the X-Request-Id header, not in the body, so that
// refusals are rendered once at the start and not once for each of a million callers.
//
// The route of the tutorial's frontend, POST /voucher-order/seckill/:id, keeps the plain envelope as application/json:
// refusals there are 200 with success:false, except 401, 413, 429 and everything from 500 up, which keep their status.
//
// 202 says that something is accepted and not complete: an order without a row, a refund whose money is on its way, a
// change of a voucher that Redis has not followed yet. It is complete later without anybody asking again.
//
// # Overload
//
// So many requests are worked on at once (load.go); beyond that a request is refused at once, before its token is looked
// at, and costs as much as the refusal of what is sold out. Not counted are admins' routes, so that a sale can be paused
// in the rush; health checks; and event streams, whose number is bounded by itself, in all and for each user. A request that
// waits for its order's row is counted, and therefore nobody begins to wait while more than half of the places are taken:
// those who wait cannot keep out those who come. An answer is written after its request's place was given back. Besides, order keeps
// the line in front of a sale short when Redis becomes slow.
//
// Each user has a token bucket (user_limit.go), which is looked at after his token was found valid and before anything
// else. Admins have none. A user who is refused loses nothing by it: refused requests take no tokens.
//
// # Events
//
// GET /order/:id/events is a stream of server-sent events (events.go, stream.go). It holds no goroutine, timer or query
// of its own besides the request's goroutine: the domain calls at each change, and every 15 seconds for a heartbeat. Each
// piece is written with a deadline of its own, so a caller who does not read is cut off; streams end after 30 minutes, and
// when the server shuts down.
//
// An admin's stream of how a sale goes (sale_events.go) asks the stores once a second, as long as somebody looks. It counts
// among the event streams and those of its user; buyers who take all of them keep no admin out.
//
// A browser's EventSource cannot send headers. On an order's stream alone the token may therefore stand in the query, as
// access_token. This package logs paths and never queries; whatever logs requests in front of the service has to do the
// same, or every reader of its log can act as these users until their tokens expire.
//
// # Repeating
//
// Purchases in a sale, cancelling, paying, refunding, pausing and resuming, PATCH, and a provider's callbacks may be
// repeated without harm. Adding stock asks for an Idempotency-Key, which makes it so; buying an ordinary voucher takes
// one (idempotency_key.go).
//
// # Every answer
//
// Nothing may be stored by caches. Failures say their language, that of errorMsg; titles and details are always English.
// Times are never finer than milliseconds. What answers GET answers HEAD.
//
// # What is authoritative, and what can go wrong
//
// Nothing is decided here about stock, windows or orders; the domain decides. errors_table.go is the one ordered table
// from the domain's errors to status, code and messages. An error that is not in it becomes INTERNAL, a 500 that says
// nothing; what it was stands in the log beside the request id. A handler that panics is the same. An outcome that is
// not known is UNKNOWN_OUTCOME, never success and never a refusal.
//
//	fault                              answer
//	more requests than there is room   503 UNAVAILABLE with Retry-After, at once: nothing was done
//	a user asks too often              429 RATE_LIMITED with Retry-After: nothing was done
//	a store is away, too much waits    503 UNAVAILABLE with Retry-After: nothing was bought
//	the reply of a purchase is lost    504 UNKNOWN_OUTCOME: repeating the POST is the definitive question
//	a payment that does not fit        409 PAYMENT_MISMATCH, nothing recorded; 401 BAD_NOTICE for what is not the provider's
//	Redis does not follow a change     202; when units are to be taken, 503 UNAVAILABLE: the same key tells later
//	an event stream breaks off         the browser comes back and is told the order as it is
//	the caller hangs up                499 CANCELLED in log and metrics only; an order accepted meanwhile is recorded all the same
//	a body that announces 20 MB        413 TOO_LARGE on every route, nothing of it read, the connection closed
//	a body of 20 MB in chunks          413 TOO_LARGE after 64 KiB where a body is read, else net/http cuts it off
//	slow headers, slow bodies          the listener's timeouts (server.go)
//	a check hangs                      /readyz answers after two seconds, with the check as failed
//
// Tokens are JWTs signed with HS256 (auth.go). A verified token is remembered until it expires, in a bounded cache;
// there is no revocation, so tokens should be short-lived.
package httpapi
