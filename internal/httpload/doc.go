// Package httpload is an HTTP/1.1 client for making load: one connection that stays open, one request at a time, and
// very little work of its own, because it shares a machine with what it measures. net/http's client costs some two
// cores at 30,000 requests a second; this one a fraction of that.
//
// It knows what answers of this service and of proxies before it look like (a length or chunks, Connection: close, 1xx)
// and nothing else: no redirects, no cookies, no compression, no HTTP/2.
//
// It never retries. [ErrNotSent] says that a request certainly had no effect; after any other error it may have had
// one.
package httpload
