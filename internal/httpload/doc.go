// Package httpload is an HTTP/1.1 client for generating load: one connection that stays open, one request at a time,
// and very little CPU time, because it shares a machine with the server that it measures. net/http's client needs about
// two cores at 30,000 requests a second; this one needs a fraction of that.
//
// It supports only the answers that this service and proxies in front of it send (a length or chunks, Connection:
// close, 1xx): no redirects, cookies, compression or HTTP/2.
//
// It never retries. [ErrNotSent] means that a request certainly had no effect; after any other error it may have had
// one.
package httpload
