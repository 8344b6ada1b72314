// Package httpapi is the service's HTTP interface. It serves the routes of shop, search and the features, checks who
// may call them, enforces limits, and writes every answer.
//
// # A request
//
//	route → a free slot → the caller (token) → their rate limit → only names that the route knows
//	      → path, query, header, body → the domain → answer or error → one writer
//
// The routes' handlers call the domain. Package param reads paths, queries and headers, and package jsonbody reads
// bodies. The only routes of this package are those of health and of tokens for trying out (demo.go).
//
// A route's row says which names its query may have, and whether it has a body. serve refuses any other name with
// INVALID, which names it (strict.go): a misspelt quantity would buy one, and a misspelt filter would select all.
// Public reads, callbacks of payment providers, and the tutorial's purchase are not strict. A body is read before the
// request takes a slot, so that a slow body holds no slot; a purchase that declares no body costs no read.
//
// A handler returns an answer or an error and never writes by itself, so that a forgotten return after a refusal
// cannot happen: serve in route.go is the only place that writes, logs and counts. The one exception is a stream.
//
// # Answers
//
// docs/http.md describes the envelope, the problem documents and their codes, and what may be repeated. The type of a
// problem is a URN (urn:seckill:problem:sold-out): it names the problem and is not meant to be fetched. The request id
// is in the X-Request-Id header, not in the body, so that refusals are rendered once at the start and not once for each
// of a million callers.
//
// The route of the tutorial's frontend, POST /voucher-order/seckill/:id, keeps the plain envelope as application/json:
// refusals there are 200 with success:false, except 401, 413, 429 and everything from 500 up, which keep their status.
//
// 202 means accepted and not complete: an order without a row, a refund whose money is on its way, a change of a
// voucher that Redis has not applied yet. It completes later without another request.
//
// # Overload
//
// The number of requests in flight is bounded (limits.go). Further requests are refused at once, before their token is
// read, which costs as little as answering "sold out". Three kinds do not count: admins' routes, so that a sale can be
// paused in a rush; health checks; and event streams, which have limits of their own, in all and for each user. A
// request that waits for its order's row counts, so none begins to wait while more than half of the slots are taken:
// waiting requests cannot keep out new ones. An answer is written after its request's slot was released. In addition,
// admission keeps the queue in front of a sale short when Redis becomes slow.
//
// Each user has a token bucket (limits.go), which is checked after their token was found valid and before anything
// else. Admins have none. Refused requests take no tokens from it.
//
// # Events
//
// GET /order/events and GET /order/:id/events are streams of server-sent events (order_events.go in package shop). They
// need no goroutine or query of their own besides the request's goroutine: the domain calls at each change, and every
// 15 seconds for a heartbeat. Each piece is written with a deadline of its own, so a caller who does not read is cut
// off; streams end after 30 minutes, and when the server shuts down.
//
// An admin's stream of a sale's stats (sale_events.go in package shop) reads the stores once a second, as long as it is
// open. It counts among the event streams and those of its user; buyers who take all streams do not keep admins out.
//
// A browser's EventSource cannot send headers. So on the streams of orders, and only there, the token may be in the
// query, as access_token. This package logs paths and never queries.
//
// # Every answer
//
// No cache may store answers, except lists and single vouchers (listings.go in package shop; package prepared): these
// are rendered once for all callers, have an entity tag, and may be cached by clients that revalidate them before each
// use.
// Errors carry the language of errorMsg in Content-Language; titles and details are always English. Times are never
// finer than milliseconds. Routes that answer GET also answer HEAD.
//
// # What is authoritative, and what can go wrong
//
// Nothing is decided here about stock, windows or orders; the domain decides. There is one ordered table from errors
// to status, code and messages: the rules of shop and of the features, and those of errors_rules.go. An error that
// is not in it becomes INTERNAL, a 500 without details; the log has them beside the request id. A handler that
// panics is the same. An outcome that is not known is UNKNOWN_OUTCOME, never success and never a refusal.
//
//	fault                                  answer
//	a store hangs while lists are read     200 with the last answer and "stale":true; 503 UNAVAILABLE if there is none
//	too many requests in flight            503 UNAVAILABLE with Retry-After, at once: nothing was done
//	a user asks too often                  429 RATE_LIMITED with Retry-After: nothing was done
//	a store is away, or its queue is full  503 UNAVAILABLE with Retry-After: nothing was bought
//	the reply of a purchase is lost        504 UNKNOWN_OUTCOME: repeating the POST shows the outcome
//	a notice with a wrong amount           409 PAYMENT_MISMATCH: nothing was recorded
//	a notice that is not the provider's    401 BAD_NOTICE
//	Redis does not apply a change in time  202; if it takes units, 503 UNAVAILABLE: repeat it with the same key later
//	an event stream breaks off             the browser reconnects and receives the order as it is
//	the caller hangs up                    499 CANCELLED in log and metrics only; an order accepted meanwhile is
//	                                       still recorded
//	a body that declares 20 MB             413 TOO_LARGE on every route; the body is not read, the connection closed
//	a body of 20 MB in chunks              413 TOO_LARGE after 64 KiB if the route reads bodies; otherwise net/http
//	                                       cuts it off
//	slow headers, slow bodies              the listener's timeouts (server.go)
//	a check hangs                          /readyz answers after two seconds, with the check as failed
//
// Tokens are JWTs signed with HS256, checked for each request by internal/authtoken. docs/operations.md says which
// role may use which route. Only the feature identity revokes tokens, so without it they should be short-lived.
//
// Package httpkit has the building blocks of routes; jsonbody and param know nothing of the service.
package httpapi
