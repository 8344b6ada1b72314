package main

import (
	"slices"

	"seckill/lab/mutant"
)

// mutants returns all bugs.
func mutants() []mutant.Mutant {
	return slices.Concat(inAdmission(), inBatching(), inRecording(), inSharing(), inRecovery(), inFailovers(),
		inPacking(), inPartitions(), inQuantities(), inWaitlists(), inRedemption(), inPayments(), inStuckRefunds(),
		inRefunds(), inCallingOff(), inArchiving(), inGuards(), beforeGuards(), inChallenges(), inShares(),
		inWebhooks(), inDeciding())
}

// inAdmission returns the mutants between the request and its answer.
func inAdmission() []mutant.Mutant {
	const script, gate = "scripts/seckill.lua", "internal/redisstore/gate.go"
	return []mutant.Mutant{
		serverMutant("stock lowered in another call", "F01", "I3 accepted means settled",
			mutant.Change{File: script, From: `'stock', whole(stock), 'seq'`, To: `'seq'`},
			mutant.Change{File: gate, From: `	return results, nil
}

// failedCall`, To: `	for i, b := range batches {
		if slices.ContainsFunc(results[i].Results, func(r gate.Result) bool { return r.Outcome == gate.Accepted }) {
			err = s.commands.HSet(ctx, s.keys.sale(b.Sale), "stock", results[i].View.Stock).Err()
		}
	}
	return results, err
}

// failedCall`},
		),
		serverMutant("MAXLEN in admission", "F13", "it was rebuilt, and Redis had lost nothing",
			mutant.Change{
				File: script, From: `call('XADD', orders_key, '*', 'v', voucher, 'u'`,
				To: `call('XADD', orders_key, 'MAXLEN', 100, '*', 'v', voucher, 'u'`,
			},
			mutant.Change{
				File: script, From: `'*', 'v', voucher, 'e', epoch, 's', sequence, 'p', packed)`,
				To: `'MAXLEN', 100, '*', 'v', voucher, 'e', epoch, 's', sequence, 'p', packed)`,
			},
		),
		serverMutant("already bought, without the order's id", "F02", "want 400 that name the order",
			mutant.Change{File: "internal/httpapi/shop/errors.go", From: `		Members: alreadyBoughtMembers,
`, To: ``},
		),
		serverMutant("already bought, with another id", "F02", "I6 winners get their own order; sold out is true",
			mutant.Change{File: script, From: `outcomes[i] = current
`, To: `outcomes[i] = order
`},
		),
		serverMutant("holders are ignored", "F02", "want 400 that name the order",
			mutant.Change{
				File: script, From: `local current = order_of[user] or holders[i]`,
				To: `local current = order_of[user]`,
			},
		),
		serverMutant("the status of an order is waited for without a bound", "F35", "took",
			mutant.Change{
				File: "internal/order/service/lookup.go",
				From: `	ctx, cancel := context.WithTimeout(ctx, sideTimeout)
	defer cancel()
	o, err := l.reader.order(ctx, orderID)
	switch {`, To: `	o, err := l.reader.order(ctx, orderID)
	switch {`,
			},
		),
		serverMutant("not found while a sale is rebuilt", "F37", "is not found",
			mutant.Change{
				File: "internal/order/service/lookup.go", From: `errors.Is(err, order.ErrNotFound) && !all`,
				To: `errors.Is(err, order.ErrNotFound) && !all && all`,
			},
		),
		serverMutant("a lost answer is called a refusal", "F03", "the record is",
			mutant.Change{
				File: "internal/order/admission/batcher.go",
				From: `fmt.Errorf("%w: %w; repeated: %w", order.ErrUnknownOutcome, f.decided[at].Err, unmarked{err})`,
				To:   `fmt.Errorf("%w: %w; repeated: %w", order.ErrUnavailable, f.decided[at].Err, unmarked{err})`,
			},
		),
	}
}

// inRecording returns the mutants between the stream and the ledger.
func inRecording() []mutant.Mutant {
	const record, fetcher = "internal/sqlstore/record.go", "internal/order/recorder/fetcher.go"
	return []mutant.Mutant{
		serverMutant("acknowledged before the commit", "F06", "it was rebuilt, and Redis had lost nothing",
			mutant.Change{File: fetcher, From: `		f.last = newBatch(part)
`, To: `		keys := make([]string, len(part))
		for i, e := range part {
			keys[i] = e.Key
		}
		if _, err := f.queue.Acknowledge(ctx, keys); err != nil {
			return nil, err
		}
		f.last = newBatch(part)
`},
		),
		serverMutant("acknowledged on another stream", "F01", "not settled",
			mutant.Change{
				File: "scripts/acknowledge.lua", From: `redis.call('XACK', KEYS[1], ARGV[1]`,
				To: `redis.call('XACK', KEYS[1] .. ':other', ARGV[1]`,
			},
		),
		serverMutant("the same consumer name for all", "F06", "not settled",
			mutant.Change{
				File: "cmd/server/wiring/shop.go", From: `redis.Consumer(partition, s.self)`,
				To: `redis.Consumer(partition, "recorder:"+uuid.Nil.String())`,
			},
		),
		serverMutant("nothing is taken over from the dead", "F07", "not settled",
			mutant.Change{File: fetcher, From: `return f.queue.Orphans(ctx, f.options.Batch)`, To: `return nil, nil`},
		),
		serverMutant("stranded entries stay where they are", "F28-dead", "entries wait in Redis",
			mutant.Change{File: "scripts/take_over.lua", From: `  take_stranded()
`, To: ``},
		),
		serverMutant("stranded entries are trimmed", "F28-dead", "it was rebuilt, and Redis had lost nothing",
			mutant.Change{File: "scripts/acknowledge.lua", From: `first[1] ~= ARGV[2]`, To: `false`},
		),
		serverMutant("existing rows are ignored", "F08", "I5 conservation",
			mutant.Change{
				File: record, From: `"INSERT INTO tb_voucher_order (`, To: `"INSERT IGNORE INTO tb_voucher_order (`,
			},
		),
		serverMutant("committed after a lock wait", "F15-wait", "conservation",
			mutant.Change{File: record, From: `	case result.Error != nil:
`, To: `	case sqlkit.IsContended(result.Error):
		return nil
	case result.Error != nil:
`},
		),
		serverMutant("no unique key", "F18", "I2 one per user",
			mutant.Change{
				File: "migrations/mysql/01000_ledger.sql", From: `    UNIQUE KEY uk_order_live (`,
				To: `    KEY uk_order_live (`,
			},
		),
		serverMutant("a taken order id is ignored", "F19", "I5 conservation",
			mutant.Change{
				File: "internal/order/recorder/resolution.go", From: `		return s.collided(c, row)`,
				To: `		return order.Decision{Claim: c, Verb: order.Keep, RowID: row.ID}`,
			},
		),
		serverMutant("a unit comes back twice", "F19", "I9 units come back once",
			mutant.Change{
				File: "scripts/correct.lua", From: `      units = units + quantity(order)`,
				To: `      units = units + 2 * quantity(order)`,
			},
		),
		serverMutant("a lower token takes the fence", "F31-emptied", "the fence fell",
			mutant.Change{File: "internal/sqlstore/sqlkit/fence.go", From: `row.Token > token:`, To: `false:`},
			mutant.Change{
				File: "internal/sqlstore/sqlkit/fence.go", From: `row.Token < token:`, To: `row.Token != token:`,
			},
		),
		serverMutant("a deadlock counts against the order", "F15-deadlock", "I3 accepted means settled",
			mutant.Change{
				File: "internal/sqlstore/sqlkit/errors.go", From: `	1048,       // a column`,
				To: `	1213, 1048, // a column`,
			},
		),
	}
}

// inSharing returns the mutants of the classes of callers.
func inSharing() []mutant.Mutant {
	const bulkhead = "internal/kit/bulkhead/bulkhead.go"
	return []mutant.Mutant{
		serverMutant("a class takes what is the others'", "F42-locked", "refused because of others",
			mutant.Change{File: bulkhead, From: `= reserve, b.free*c.quarters()/quarters`, To: `= 0, size`},
		),
		serverMutant("connections are not divided among classes", "F42-locked", "were recorded within",
			mutant.Change{
				File: "internal/sqlstore/sqlkit/permits.go", From: `if db.Error != nil || d.hasPermit(db) {`,
				To: `if true {`,
			},
		),
	}
}

// inQuantities returns the mutants of orders of several units.
func inQuantities() []mutant.Mutant {
	const life, redis = "./lab/life", "./internal/redisstore"
	const audit, recovery, admission = "./internal/order/audit", "./internal/order/recovery",
		"./internal/order/admission"
	return []mutant.Mutant{
		historyMutant("the ledger's stock counts orders instead of units", life, "TestLife", "units of live orders",
			mutant.Change{File: "internal/sqlstore/record.go", From: `t.units += c.Quantity.Units()`, To: `t.units++`},
		),
		packageMutant("the audit's sum counts holders instead of units", audit, "TestBalance$/orders_of_several_units",
			"want balanced", mutant.Change{
				File: "internal/order/audit/balance.go", From: `return i.Holders + i.Extra`, To: `return i.Holders`,
			},
		),
		historyMutant("the script takes one unit, however many are asked for", redis, "TestModel", "-model +Redis",
			mutant.Change{
				File: "scripts/seckill.lua", From: `accepted, taken = accepted + 1, taken + quantity`,
				To: `accepted, taken = accepted + 1, taken + 1`,
			},
		),
		historyMutant("a cancel gives back one unit instead of all", life, "TestLife", "units of live orders",
			mutant.Change{
				File: "internal/sqlstore/transition.go", From: `rows[i].units().Units(), c.by`, To: `1, c.by`,
			},
		),
		historyMutant("a correction gives back one unit instead of all", redis, "TestModel", "-model +Redis",
			mutant.Change{
				File: "scripts/correct.lua", From: `units = units + quantity(order)`, To: `units = units + 1`,
			},
		),
		packageMutant("a rebuild takes one unit for a holder of three", recovery,
			"TestPlanOfARebuild$/orders_of_several_units_come_back", "Stock: 13", mutant.Change{
				File: "internal/order/recovery/plan.go", From: `			promised += held.Quantity.Units()`,
				To: `			promised++`,
			},
		),
		packageMutant("buyers of a limited voucher do not wait for each other", "./internal/sqlstore",
			"TestLimitedDirectSaleRace$/mysql", "want 3", mutant.Change{
				File: "internal/sqlstore/record.go", From: `	if err := tx.Clauses(claim).Create(`,
				To: `	if err := tx.Session(&gorm.Session{DryRun: true}).Clauses(claim).Create(`,
			},
		),
		packageMutant("not enough is remembered as sold out", admission, "TestNotEnoughIsNotRemembered",
			"after others wanted three",
			mutant.Change{
				File: "internal/order/admission/batcher.go",
				From: `	t.sale.observe(ctx, &observation{view: ` +
					`decided.View,`, To: `	if decided.Results[0].Outcome == gate.NotEnough {
		decided.View.Stock = 0
	}
	t.sale.observe(ctx, &observation{view: decided.View,`,
			},
		),
	}
}
