// Package batch shares calls: callers that come while a call is under way share the next one. There is no timer and no
// least number of callers, so one that comes alone waits for nobody, and many share the price of a call.
//
//	Do ──► waiting ──► a free worker takes the longest waiting, up to Options.Size ──► call ──► each caller's answer
//
// A call begins after all its callers have asked, so it sees what each of them knew then. Requests are sent in the
// order in which they came. A worker is a goroutine that lives while somebody waits; Options.Calls says how many
// there are at most.
//
// What can go wrong, and what then happens:
//
//	a caller gives up while it waits     its request is never sent: ErrNotSent
//	a caller gives up during its call    its context's error; the call goes on for the others
//	a call fails                         all its callers get the error; with Options.FailWaiting those that wait get
//	                                     ErrNotSent at once, because they would wait as long for the same
//	calls become slow                    with Options.MaxWait, who would wait for longer gets ErrNotSent at once
//
// The package decides nothing about requests and keeps nothing of them: which answer is right is for the call to say.
package batch
