// Package batch shares calls: callers that arrive while a call is under way share the next one. There is no timer and
// no minimum number of callers: a lone caller is served at once, and a crowd shares the cost of a call.
//
//	Do ──► waiting ──► a free worker takes the longest waiting, up to Options.Size ──► call ──► each caller's answer
//
// A call begins after all its callers have asked, so it sees the state that each of them knew. Requests are sent in
// order of arrival. A worker is a goroutine that lives while requests wait; there are at most Options.Calls of them.
//
// What can go wrong, and what follows:
//
//	a caller gives up while it waits     its request is never sent: ErrNotSent
//	a caller gives up during its call    it gets its context's error; the call goes on for the others. With Finish, it
//	                                     gets the call's answer
//	a call fails                         all its callers get the error; with Options.FailWaiting, waiting callers get
//	                                     ErrNotSent at once, because they would only wait for the same failure
//	calls become slow                    with Options.MaxWait, callers that would wait longer get ErrNotSent at once
//
// The package does not interpret requests or cache answers; that is up to the call.
package batch
