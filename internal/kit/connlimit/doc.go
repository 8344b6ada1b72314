// Package connlimit bounds the connections of a listener, so that a crowd of them cannot use up the process's file
// descriptors: without a descriptor there is no health check, no metric and no new connection to a store.
//
// When the limit is reached, connections without a request for [IdleFor] are closed first, those of the peer that holds
// most before others': an address, or the 64 bits of IPv6 that one line has. So somebody who opens connections and asks
// nothing keeps nobody out for longer. Trusted proxies are exempt: their idle connections are everybody's. Each
// connection beyond the limit gets a definite answer, prepared beforehand, and is closed: at once when its request
// arrives, after a second when none does. At most [MaxGoodbyes] wait for that; those beyond are answered and closed
// without waiting, which some clients take for a lost connection.
//
// Also considered: golang.org/x/net/netutil.LimitListener makes callers wait in the kernel's queue, where they hear
// nothing until they give up, and health checks with them; it also hides CloseWrite from net/http, whose answers to
// requests that it does not read to the end are then lost to a reset. http.Server.ConnState can count connections but
// not refuse them before a request was read, which takes a goroutine and the buffers that are to be saved. A server's
// own way to close what is idle, SetKeepAlivesEnabled, takes the connections of everybody, also those that were idle
// for a moment. A smaller descriptor limit for the process leaves none for the stores either.
package connlimit
