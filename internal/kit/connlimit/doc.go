// Package connlimit bounds the connections of a listener, so that a crowd of them cannot use up the process's file
// descriptors: without a descriptor there is no health check, no metric and no new connection to a store.
//
// At the limit, connections without a request for [IdleFor] are closed first, beginning with the peer that holds most
// of them, and for a minute after that no peer gets more than half of the limit. A peer is an IPv4 address, or the 64
// bits of IPv6 that one line has. So nobody can keep others out for longer by opening silent connections, and replacing
// each one that is closed. Trusted proxies are exempt, because their idle connections serve everybody. Each
// connection beyond the limit gets a prepared answer and is closed: when its request arrives, or after a second without
// one. At most [MaxGoodbyes] connections wait in this way; further ones are answered and closed at once, which some
// clients take for a lost connection.
//
// Also considered: golang.org/x/net/netutil.LimitListener makes callers (and health checks) wait in the kernel's queue,
// where they get no answer until they give up. It also hides CloseWrite from net/http, so that answers to partly read
// requests are lost to a reset. http.Server.ConnState can count connections, but cannot refuse one before a request has
// been read, which costs the goroutine and buffers that the limit is to save. The server's own SetKeepAlivesEnabled
// closes everybody's idle connections, even those that were idle only for a moment. A smaller descriptor limit for the
// process would starve the stores as well.
package connlimit
