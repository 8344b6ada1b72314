package main

import "seckill/lab/mutant"

// inWebhooks returns the mutants between the change of an order and the receiver of its event.
func inWebhooks() []mutant.Mutant {
	const (
		feature                     = "internal/feature/webhook/"
		ledger, rules, sending, all = "./internal/feature/webhook", "./internal/feature/webhook/dispatch",
			"./internal/feature/webhook/sender", "./test/webhooks"

		events, hook   = feature + "ledger_events.go", feature + "ledger_hook.go"
		queue, replay  = feature + "ledger_queue.go", feature + "ledger_replay.go"
		pass, delivery = feature + "dispatch/pass.go", feature + "dispatch/delivery.go"

		client, dialled = "internal/kit/dialguard/client.go", "internal/kit/dialguard/dialguard.go"
	)
	return []mutant.Mutant{
		packageMutant("events are numbered as they were written, not as they were committed", ledger,
			"TestNumbersFollowCommits", "ClaimEndpoint = false",
			mutant.Change{File: events, From: `last+int64(i)+1)`, To: `id+0*(last+int64(i)))`},
		),
		packageMutant("a reader of the stream gets past an event that commits late", ledger,
			"TestReaderWaitsForNobodyAndMissesNothing", "after its commit [] is read",
			mutant.Change{File: feature + "ledger_stream.go", From: `	to := last
`, To: `	to := last + 1
`},
		),
		packageMutant("nobody notes which events were deleted", ledger, "TestStreamIsGone", "one that is gone: true",
			mutant.Change{File: replay, From: `return deleted, raiseGone(tx, gone)`, To: `return deleted, nil`},
		),
		packageMutant("a sale starts as often as somebody looks", ledger, "TestEventsOfSales", "nothing new:",
			mutant.Change{File: feature + "ledger_sale.go", From: `*mark = true`, To: `_ = mark`},
		),
		packageMutant("an order's event has its payments as they were", ledger, "TestMoneyIsInTheEvents",
			"its owner wants it back: payments", mutant.Change{
				File: "internal/feature/webhook/ledger_hook.go", From: `	paid, err := l.paid(tx, changes)
`, To: `	paid, err := l.paid(tx, changes[:0])
`,
			},
		),
		packageMutant("an endpoint has got past events before they were sent", ledger,
			"TestWebhookLease", "b claims: 0, false",
			mutant.Change{File: queue, From: `		return readWork(tx, &w, n)
`, To: `		if err := readWork(tx, &w, n); err != nil {
			return err
		}
		return tx.Model(row).Update("next_number", w.Next).Error
`},
		),
		packageMutant("a page of rare events looks at all events", ledger, "TestDeliveriesLookAtFewEvents",
			"1 pages, want 4", mutant.Change{File: replay, From: "next = last[0]", To: "next = 0 * last[0]"}),
		packageMutant("one who has lost the lease settles", ledger, "TestWebhookLease", "a settles without the lease",
			mutant.Change{
				File: queue, From: `if row.LeaseOwner != owner || row`,
				To: `if row.LeaseOwner != owner && false || row`,
			},
		),
		packageMutant("it is never read anew which shops have an endpoint", ledger,
			"TestFirstEndpointIsKnownASecondLater", "later: 0 events, want 1", mutant.Change{
				File: hook, From: `if age >= 0 && age < subscribedFor/2 {`,
				To: `if len(ages(age)) > 0 && !c.from.IsZero() {`,
			},
			mutant.Change{
				File: hook, From: `// learn stores the shops`,
				To: `func ages(d ...time.Duration) []time.Duration { return d }

// learn stores the shops`,
			},
		),
		packageMutant("an endpoint that is enabled again is held to how it failed before", ledger,
			"TestEndpointThatIsEnabledBeginsAnew", "Failures:41",
			mutant.Change{File: queue, From: `if !r.endpoint().Health.Equal(done.HealthWas) {`, To: `if false {`},
		),
		packageMutant("what is replayed is settled away", ledger, "TestReplayIsNotSettledAway", "ClaimEndpoint = false",
			mutant.Change{File: queue, From: ` AND number = ? AND attempts = ?", done.EndpointID,
			r.Subject, r.Number, r.Attempts)`, To: `", done.EndpointID, r.Subject)`},
		),
		packageMutant("events that an endpoint waits for are deleted", ledger, "TestOldEventsAreDeleted",
			"0 events are left, want 5", mutant.Change{File: replay, From: `p.next_number <= e.number OR `, To: ``},
		),
		packageMutant("410 is a failure like others", all, "TestGone", "the endpoint is",
			mutant.Change{File: pass, From: `if failure.Code == Gone {`, To: `if failure.Code == Gone && false {`},
		),
		historyMutant("one order's events are sent at once", rules, "TestEndpointKeepsEveryEvent", "is lost",
			mutant.Change{
				File: delivery, From: `c := bySubject[e.Subject]`,
				To: `c := bySubject[order.SubjectOfOrder(-e.Number)]`,
			},
		),
		packageMutant("each attempt has another webhook-id", all, "TestOnlyChosenTypes", "body",
			mutant.Change{File: pass, From: `ID: e.ID(), At: now`, To: `ID: e.ID() + now.String(), At: now`},
		),
		historyMutant("a failure gets past its event", rules, "TestEndpointKeepsEveryEvent", "is lost",
			mutant.Change{File: delivery, From: `	case len(left) > 0:
		s.Behind`, To: `	case len(left) > 1:
		s.Behind`},
		),
		packageMutant("behind a dead letter an event is left out", rules, "TestWhatFailuresCountAgainst",
			"it goes on from event", mutant.Change{
				File: delivery, From: `Number: first.Number + 1, DueAt: now}`,
				To: `Number: first.Number + 2, DueAt: now}`,
			},
		),
		historyMutant("a step of an order is not told", "./lab/life", "TestLife$", "webhooks are told",
			mutant.Change{
				File: "internal/sqlstore/transition.go", From: `tx.changed(rows, order.Change{Action:`,
				To: `tx.changed(rows[1:], order.Change{Action:`,
			},
		),
		serverMutant("a cancel writes no event", "F54", "no instance came to",
			mutant.Change{
				File: "internal/sqlstore/transition.go", From: `tx.changed(rows, order.Change{Action:`,
				To: `tx.changed(rows[:0], order.Change{Action:`,
			},
		),
		packageMutant("the breaker never opens", rules, "TestBreaker", "after 10 failures",
			mutant.Change{
				File: feature + "dispatch/health.go", From: `return h.Failures >= breakAfter`,
				To: `return h.Failures >= 1000*breakAfter`,
			},
		),
		packageMutant("a redirect is followed", sending, "TestAnswers", "a redirect was followed",
			mutant.Change{File: client, From: `return http.ErrUseLastResponse`, To: `return nil`},
		),
		packageMutant("a private address is dialled", "./internal/kit/dialguard", "TestAddresses",
			"192.168.1.1: by https true", mutant.Change{File: dialled, From: `ip.IsPrivate(), `, To: ``},
		),
		packageMutant("the address that is dialled is not checked", sending, "TestNamesOfThisMachineAreRefused",
			"want ADDRESS_NOT_ALLOWED",
			mutant.Change{File: dialled, From: `return g.Check(to.Addr(), tls)
`, To: `_ = to
		return nil
`},
		),
	}
}
