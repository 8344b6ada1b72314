package main

import "seckill/lab/mutant"

// inFourth returns mutants of rows 67 to 73, and others that the suite once failed to notice.
func inFourth() []mutation {
	return []mutation{
		{"a late answer ends the wait", []change{
			{"attempt.go", `if !errors.Is(err, errTooLate) || ctx.Err() != nil {`, `if true {`},
		}, "Mutex", 67},
		{"a lock that is handed on too late ends the wait", []change{
			{"wait.go", `			if h, err := l.accept(*c, o.token, o.sent); err == nil {
				return h, nil
			}
`, `			if h, err := l.accept(*c, o.token, o.sent); err == nil || true {
				return h, err
			}
`},
		}, "Mutex", 67},
		{"a late answer is a loss", []change{
			{"errors.go", `"%w: %w", ErrNoAnswer, member.ErrLate)`, `"%w: %w", ErrLost, member.ErrLate)`},
		}, "Reentrant", 67},
		{"a late majority ends the wait", []change{
			{"group/lock.go", ` || errors.Is(err, member.ErrLate)) &&`, `) &&`},
		}, "Redlock", 67},
		{"who was not sent hears the error of another", []change{
			{"errors.go", `ended == nil && !notSent && !timedOut(err)`, `ended == nil && !timedOut(err)`},
		}, "Mutex", 68},
		{"a client that cannot subscribe is served", []change{
			{"locker.go", `if err := subscribes(client); err != nil {`, `if err := subscribes(client); false {`},
		}, "Mutex", 69},
		{"a mutex's owner may be anything", []change{
			{"attempt.go", `if uuid.Validate(`, `if false && uuid.Validate(`},
		}, "Mutex", 70},
		{"owners are compared by their first word", []change{
			{"lua/holds.lua", `'^%S+ %S+ (.*)$'`, `'^%S+ %S+ (%S*)'`},
		}, "Fair", 70},
		{"a reader whose count was evicted waits for itself", []change{
			{"lua/read.lua", `  recount()`, ``},
		}, "Read", 71},
		{"a reader whose count was evicted may wait to write", []change{
			{"lua/write.lua", `  recount()`, ``},
		}, "Read", 71},
		{"a lease that was handed on counts from the repetition", []change{
			{"attempt.go", `within := releaseTimeout / 2`, "sent = time.Now()\n\t\twithin := releaseTimeout / 2"},
		}, "Mutex", 15},
		{"a lease that was handed on counts from the answer", []change{
			{"wait.go", `l.accept(*c, o.token, o.sent)`, `l.accept(*c, o.token, time.Now())`},
		}, "Mutex", 72},
		{"a lease counts from the answer", []change{
			{"attempt.go", `if h, err = l.accept(*c, a.token, sent)`, `if h, err = l.accept(*c, a.token, time.Now())`},
			{"attempt.go", `		sent = time.Now()
		a, err`, `		_ = sent
		a, err`},
		}, "Reentrant", 72},
		{"a refreshed lease counts from the answer", []change{
			{"hold.go", `	h.extend(sent)
	return h.Err()`, `	_ = sent
	h.extend(time.Now())
	return h.Err()`},
		}, "Fair", 72},
		{"each try of one who listens is noted", []change{
			{"lua/mutex_acquire.lua", ` and string.sub(state, -2) ~= ' w'`, ``},
		}, "Mutex", 73},
		{"a prefix is taken for another's escape", []change{
			{"keys.go", `"%", "%25", `, ``},
		}, "Write", 73},
		{"one waiter's own failure is everybody's", []change{
			{"wait.go", `return errors.Is(err, ErrNotObtained) ||`, `return false &&`},
		}, "Write", 39},
		{"a hold that is over refuses re-entry", []change{
			{"attempt.go", `ok && h.Err() == nil {`, `ok && h != nil {`},
		}, "Mutex", 20},
		{"Do reports a loss to who released the lock", []change{
			{"hold.go", `	freed := h.freed`, `	freed := false`},
		}, "Mutex", 58},
		{"Do reports a loss to who released several", []change{
			{"group/hold.go", `	freed := released(h.list()) >= h.lock.need`, `	freed := false`},
		}, "Multi", 58},
		{"a limit without renewal is accepted", []change{
			{"options.go", `if s.maxHold > 0 && !s.renewed {`, `if false {`},
		}, "Read", 65},
	}
}

// inIDs returns the mutants of the order ids, by the tests that must notice them.
func inIDs() []mutant.Mutant {
	const ids = "./internal/idworker"
	broken := func(name, file, from, to, test string) mutant.Mutant {
		return mutant.Mutant{
			Name: "ids: " + name, Package: ids, Test: test,
			Changes: []mutant.Change{{File: "internal/idworker/" + file, From: from, To: to}},
		}
	}
	return []mutant.Mutant{
		broken("the newest day is forgotten", "fetch.go", `oldest = min(oldest, d)`, `oldest = max(oldest, d)`,
			"TestLostDataAfterDays$"),
		broken("a closed worker gives what it has", "worker.go", `	w.current.Store(nil)
`, ``, "TestCloseDropsNumbers$"),
		broken("a closed worker reserves", "fetch.go", `if w.closed || w.fetching != nil ||`, `if w.fetching != nil ||`,
			"TestCloseDropsNumbers$"),
		broken("two reservations at a time", "fetch.go", `if w.closed || w.fetching != nil ||`, `if w.closed ||`,
			"TestOneReservationAtATime$"),
		broken("a spare block is reserved again", "fetch.go", ` || w.spare != nil && w.spare.day == b.day {`, ` {`,
			"TestOneReservationAtATime$"),
		broken("another day's failure is this day's", "fetch.go", `err != nil && (f.day == day || ctx.Err() != nil) {`,
			`err != nil && (true || f.day == day) {`, "TestFailedReservationOfAnotherDay$"),
	}
}
