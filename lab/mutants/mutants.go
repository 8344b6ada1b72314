package main

import (
	"slices"

	"seckill/lab/mutant"
)

// mutants returns all bugs.
func mutants() []mutant.Mutant {
	return slices.Concat(inAdmission(), inRecording(), inSharing(), inRecovery(), inFailovers(), inPacking(),
		inPartitions(), inQuantities(), inWaitlists(), inRedemption(), inGuards(), inWebhooks(),
		inOfferEvents(), inOffers())
}

// inFailovers are those that matter when another server takes a master's place.
func inFailovers() []mutant.Mutant {
	return []mutant.Mutant{
		serverMutant("no reload of the slot map on dial errors", "F43-dead", "did not happen within",
			mutant.Change{File: "internal/redisstore/rediskit/clients.go", From: `	watchSlotMap(client)
`, To: ``},
		),
		serverMutant("an order is told that no replica has", "F44-split", "were told on the old side",
			mutant.Change{File: "internal/redisstore/replicas.go", From: `got < int64(c.wanted)`, To: `got < 0`},
		),
		serverMutant("an epoch for each try to stop the sale", "F43-slot", "want 2 at most",
			mutant.Change{File: "internal/order/recovery/rebuild.go", From: `	err := r.builder.Begin(ctx, sale, 0)
`, To: `	err := order.ErrSuperseded
`},
		),
	}
}

// inAdmission are those between the request and its answer.
func inAdmission() []mutant.Mutant {
	const script, gate = "scripts/seckill.lua", "internal/redisstore/gate.go"
	return []mutant.Mutant{
		serverMutant("stock lowered in another call", "F01", "I3 accepted means settled",
			mutant.Change{File: script, From: `'stock', whole(stock), 'seq'`, To: `'seq'`},
			mutant.Change{File: gate, From: `	return result, err
}`, To: `	admitted := 0
	for _, outcome := range result.Results {
		if outcome.Outcome == order.Accepted {
			admitted++
		}
	}
	if admitted > 0 {
		err = s.commands.HSet(ctx, s.keys.sale(b.Sale), "stock", result.View.Stock).Err()
	}
	return result, err
}`},
		),
		serverMutant("MAXLEN in admission", "F13", "it was rebuilt, and Redis had lost nothing",
			mutant.Change{
				File: script, From: `call('XADD', orders_key, '*', 'v', voucher, 'u'`,
				To: `call('XADD', orders_key, 'MAXLEN', 100, '*', 'v', voucher, 'u'`,
			},
			mutant.Change{
				File: script, From: `call('XADD', orders_key, '*', 'v', voucher, 'e'`,
				To: `call('XADD', orders_key, 'MAXLEN', 100, '*', 'v', voucher, 'e'`,
			},
		),
		serverMutant("already bought, without the order's id", "F02", "want 400 that name the order",
			mutant.Change{File: "internal/httpapi/errors_table.go", From: `		Members: alreadyBoughtMembers,
`, To: ``},
		),
		serverMutant("already bought, with another id", "F02", "I6 winners are told their order, sold out is true",
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
				From: `fmt.Errorf("%w: %w; repeated: %w", order.ErrUnknownOutcome, err, unmarked{errAgain})`,
				To:   `fmt.Errorf("%w: %w; repeated: %w", order.ErrUnavailable, err, unmarked{errAgain})`,
			},
		),
	}
}

// inRecording are those between the stream and the ledger.
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
				File: "cmd/server/shop.go", From: `redis.Consumer(partition, self)`,
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
				File: "internal/sqlstore/sqlkit/errors.go", From: `		case 1048, // a column`,
				To: `		case 1213, 1048, // a column`,
			},
		),
	}
}

// inSharing are those between the classes of callers.
func inSharing() []mutant.Mutant {
	const bulkhead = "internal/bulkhead/bulkhead.go"
	return []mutant.Mutant{
		serverMutant("a class takes what is the others'", "F42-locked", " within",
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

// inRecovery are those in noticing and repairing what is wrong in Redis.
func inRecovery() []mutant.Mutant {
	return []mutant.Mutant{
		serverMutant("one spoilt sale fails the sweep of all", "F38", "not ready",
			mutant.Change{
				File: "scripts/views.lua", From: `local sale = redis.pcall('HMGET', KEYS[i]`,
				To: `local sale = redis.call('HMGET', KEYS[i]`,
			},
		),
		serverMutant("a rebuild leaves what is no hash", "F38", "mending nothing more",
			mutant.Change{File: "scripts/begin_rebuild.lua", From: `  remove_unless(wanted, KEYS[i])
`, To: ``},
		),
		serverMutant("an epoch of nobody's is believed", "F38", "an epoch of nobody's",
			mutant.Change{File: "scripts/seckill.lua", From: `epoch <= known_epoch + MAX_LEAD`, To: `epoch < MAX`},
		),
		serverMutant("a rebuild leaves unreadable holders", "F38", "mending holders that are none",
			mutant.Change{
				File: "internal/order/recovery/rebuild.go",
				From: `	plan.removeHolders = append(plan.removeHolders, in.unreadableFields(holders)...)
`, To: ``,
			},
		),
		serverMutant("a correction begins with HSET", "F36", "recording in a full Redis",
			mutant.Change{File: "scripts/correct.lua", From: `if #removed > 0 then
  call('HDEL', buyers_key, unpack(removed))
end
if #set > 0 then
  call('HSET', buyers_key, unpack(set))
end
`, To: `if #set > 0 then
  call('HSET', buyers_key, unpack(set))
end
`},
		),
		serverMutant("ended sales are as urgent as running ones", "F39", "the running one sold again after",
			mutant.Change{File: "internal/order/recovery/reconciler.go", From: `	case view.Now.Before(v.Sale.End):
		return Running
	default:
		return Ended
`, To: `	default:
		return Running
`},
		),
		serverMutant("a sweep rebuilds what it finds, one sale after the other", "F39",
			"the rebuild of an ended sale did not happen",
			mutant.Change{File: "internal/order/recovery/reconciler.go", From: `		r.repairs.found(sale, u)
`, To: `		r.tryRebuild(ctx, sale)
`},
			mutant.Change{
				File: "internal/order/recovery/reconciler.go", From: `			id, u, ok := r.repairs.next(least)
			if !ok {`, To: `			id, u, ok := r.repairs.next(least)
			if ok && u != Retiring {
				r.repairs.done(id, jobDone)
				continue
			}
			if !ok {`,
			},
		),
		serverMutant("sweeps suspect nobody, and the audit checks one sale in a pass", "F40", "mending the sale",
			mutant.Change{
				File: "internal/order/recovery/reconciler.go", From: `		r.suspects.Suspect(sale) //`,
				To: `		_ = r.suspects //`,
			},
			mutant.Change{
				File: "internal/order/audit/pass.go", From: `p.checked && p.busy >= passTime`,
				To: `p.checked && p.busy >= 0`,
			},
		),
	}
}

// inQuantities are those in orders of several units.
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
				File: "internal/order/recovery/rebuild.go", From: `			promised += held.Quantity.Units()`,
				To: `			promised++`,
			},
		),
		packageMutant("buyers of a limited voucher do not wait for each other", "./internal/sqlstore",
			"TestLimitedDirectSaleRace$/mysql", "want 3", mutant.Change{
				File: "internal/sqlstore/limited.go", From: `	if err := tx.Clauses(claim).Create(`,
				To: `	if err := tx.Session(&gorm.Session{DryRun: true}).Clauses(claim).Create(`,
			},
		),
		packageMutant("not enough is remembered as sold out", admission, "TestNotEnoughIsNotRemembered",
			"after others wanted three",
			mutant.Change{File: "internal/order/admission/batcher.go", From: `	b.observe(ctx, &observation{view: ` +
				`decided.View,`, To: `	if decided.Results[0].Outcome == order.NotEnough {
		decided.View.Stock = 0
	}
	b.observe(ctx, &observation{view: decided.View,`},
		),
	}
}

// inRedemption are those that cost a buyer a coupon or a shop its money.
func inRedemption() []mutant.Mutant {
	return []mutant.Mutant{
		serverMutant("a repeated redeem is called another one's", "F51", "0 have got the coupon",
			mutant.Change{
				File: "internal/order/redemption/coupon.go", From: `	case cmd.Verb == Redeem && c.redeemedBy(cmd):
		return true, nil
`, To: ``,
			},
			mutant.Change{
				File: "internal/order/redemption/coupon.go",
				From: `// redeemedBy reports whether the same request has redeemed the coupon.
func (c *Coupon) redeemedBy(cmd Command) bool {
	return c.Status == order.Redeemed && c.RedeemedBy == cmd.Till.ID && c.RedeemKey == cmd.Key
}

`, To: ``,
			},
		),
		serverMutant("a reservation does not bar the refund", "F51", "2 have got the coupon",
			mutant.Change{File: "internal/sqlstore/coupons.go", From: `	case c.Reserved(now):
		return order.ErrReserved
`, To: ``},
			mutant.Change{
				File: "internal/order/redemption/coupon.go",
				From: `	case cmd.Reservation != "" && (!held || !c.holds(cmd)):
		return ErrReservationOver
`, To: ``,
			},
			mutant.Change{File: "internal/order/redemption/coupon.go", From: `	case c.Status != order.Paid:
		return false, ErrVoid
`, To: ``},
		),
		packageMutant("a spoilt key keeps payments waiting", "./internal/sqlstore", "TestSpoiltKeyStopsNothing",
			"no codes are made", mutant.Change{
				File: "internal/sqlstore/transition.go", From: `!errors.Is(err, ErrKeySpoilt) { // else`,
				To: `err != nil { // else`,
			},
		),
	}
}

// inGuards are those of guards against bots.
func inGuards() []mutant.Mutant {
	const ledger, guard, tickets = "./internal/sqlstore", "./internal/guard", "./internal/guard/ticket"
	const ticket = "internal/guard/ticket/ticket.go"
	return []mutant.Mutant{
		packageMutant("orders of sales without a cool-down count too", ledger, "TestUnpaidIsCounted$", "counted",
			mutant.Change{
				File: "internal/sqlstore/unpaid.go", From: `s != nil && s.CoolDown != nil`, To: `s == nil || s != nil`,
			},
			mutant.Change{File: "internal/sqlstore/unpaid.go", From: ` AND guards <> ''`, To: ``},
		),
		packageMutant("a count never begins anew", ledger, "TestUnpaidIsForgotten$", "-want",
			mutant.Change{
				File: "internal/sqlstore/unpaid.go", From: `"CASE WHEN tb_unpaid.last_time < ?`,
				To: `"CASE WHEN NOT tb_unpaid.last_time < ? AND FALSE`,
			},
		),
		packageMutant("each instance has budgets of its own", guard,
			"TestInstancesShareBudgets$", "one instance lets in",
			mutant.Change{File: "internal/guard/budget_exchange.go", From: `		e.limits.spentElsewhere(elsewhere)
`, To: `		e.limits.spentElsewhere(elsewhere[:0])
`},
		),
		packageMutant("of who asks each instance at just the rate nothing is told", guard,
			"TestInstancesSharePacedBudgets$/users", "were let in of each", mutant.Change{
				File: "internal/guard/table.go", From: `	if tell != nil {`,
				To: `	if tell != nil && (full-at)*tellFrom >= token*time.Duration(r.Requests) {`,
			},
		),
		packageMutant("what was spent elsewhere never comes back", guard, "TestSpentElsewhere$", "want 8",
			mutant.Change{File: "internal/guard/spending.go", From: `now.Add(-max(0, s.Ago))`, To: `now`},
		),
		packageMutant("an instance hears itself", "./internal/redisstore", "TestOnEveryServer$/miniredis/spending$",
			"7:user:1=5", mutant.Change{
				File: "scripts/exchange_spending.lua", From: `string.sub(told[i], 1, #own) ~= own`, To: `true`,
			},
		),
		packageMutant("a ticket is good for every user", tickets, "TestCheck$/another_user",
			"<nil>, want the ticket is not valid",
			mutant.Change{File: ticket, From: `uint64(userID))
	return key.Sign`, To: `0*uint64(userID))
	return key.Sign`},
		),
		packageMutant("a ticket is good in every sale", tickets, "TestCheck$/another_sale",
			"<nil>, want the ticket is not valid", mutant.Change{
				File: ticket, From: `t.keys.Current(keys.Ticket, saleID)`, To: `t.keys.Current(keys.Ticket, 0)`,
			},
			mutant.Change{File: ticket, From: `t.keys.Find(keys.Ticket, saleID,`, To: `t.keys.Find(keys.Ticket, 0,`},
			mutant.Change{File: ticket, From: `uint64(saleID))`, To: `0*uint64(saleID))`},
		),
		packageMutant("a ticket never expires", tickets, "TestCheck$/expired", "<nil>, want the ticket is not valid",
			mutant.Change{File: ticket, From: `now.Unix() >= expiry(&raw)`, To: `now.Unix() >= expiry(&raw) && false`},
		),
		// Either alone changes nothing: there is one type, and keys are derived for each purpose.
		packageMutant("a ticket's type is neither looked at nor signed", tickets, "TestBadTickets$", "one bit altered",
			mutant.Change{File: ticket, From: ` || raw[0] != typeTicket`, To: ``},
			mutant.Change{File: ticket, From: `copy(message[:], head)`, To: `copy(message[1:], head[1:])`},
		),
		packageMutant("one key for all purposes", guard+"/keys", "TestKeysDiffer$", "has the key of",
			mutant.Change{
				File: "internal/guard/keys/keys.go", From: `"seckill guard 1 " + string(purpose) + " "`,
				To: `"seckill guard 1 "`,
			},
		),
		packageMutant("a ticket is usable before its moment", "./internal/httpapi", "TestBadTickets$",
			"early, the 0th: 202", mutant.Change{
				File: "internal/guard/ticket/guard.go", From: `	return g.Tickets.Usable(r.Sale.ID, ` +
					`r.Caller.UserID, r.Sale.Begin, r.Sale.Settings.Tickets.Longest(), r.Now)`, To: `	return nil`,
			},
		),
		packageMutant("guards stand before rule 2", "./internal/order/service", "TestGuardsStandBehindRule2$",
			"a_winner_who_may_not_enter",
			mutant.Change{File: "internal/order/service/guards.go", From: `	own := g.ownOrder(ctx, s.ID, c.UserID)
`, To: `	own := order.ErrBarred
`},
		),
		packageMutant("a ledger that fails makes the cool-down forget", guard,
			"TestCoolDownLoader$", "the ledger is away",
			mutant.Change{File: "internal/guard/cool_down_loader.go", From: `	if err != nil {
		return false, err
	}
	l.check`, To: `	if err != nil {
		l.check.ForgetAll()
		return false, err
	}
	l.check`},
		),
	}
}

// inWaitlists are those of waiting lists.
func inWaitlists() []mutant.Mutant {
	const life, ledger, recovery = "./lab/life", "./internal/sqlstore", "./internal/order/recovery"
	const offers = "internal/sqlstore/offers.go"
	return []mutant.Mutant{
		packageMutant("an offer also raises the stock", ledger, "TestReturnedUnitsAreOffered", "!= issued",
			mutant.Change{File: offers, From: `			ops[i].Delta -= ops[i].Offered
`, To: ``},
		),
		historyMutant("an offer raises the stock besides", life, "TestLife", "offered",
			mutant.Change{File: offers, From: `			ops[i].Delta -= ops[i].Offered
`, To: ``},
		),
		historyMutant("who only waits may accept", life, "TestLife", "offers are open",
			mutant.Change{
				File: offers, From: `		if row.State != waitlist.Offered || !now.Before(sqlkit.At(row.Deadline))`,
				To: `		if row.State != waitlist.Waiting && row.State != waitlist.Offered`,
			},
		),
		historyMutant("one unit is offered to two", life, "TestLife", "offers are open",
			mutant.Change{
				File: offers, From: `	kept, err := s.offer(tx, sale, make([]int64, min(units, maxOffers)), now)
	if err != nil {
		return err
	}
`, To: `	kept, err := s.offer(tx, sale, make([]int64, 2*min(units, maxOffers)), now)
	if err != nil {
		return err
	}
	kept = min(kept, units)
`,
			},
		),
		historyMutant("a missed offer is passed on, and can still be accepted", life, "TestLife", "offers are open",
			mutant.Change{
				File: "internal/sqlstore/see_to_offers.go",
				From: `	if err := endPlaces(tx, sale.VoucherID, places, state, now); err != nil {
		return err
	}
	ended`, To: `	if state != waitlist.Missed {
		if err := endPlaces(tx, sale.VoucherID, places, state, now); err != nil {
			return err
		}
	}
	ended`,
			},
		),
		serverMutant("Redis is not asked again after a rebuild", "F53", "an order for each accepted offer",
			mutant.Change{
				File: "internal/sqlstore/see_to_offers.go", From: `		err = s.askForAll(tx, sale, asked, now)`,
				To: `		err = s.askForAll(tx, sale, asked[:0], now)`,
			},
		),
		packageMutant("an offer becomes an order though Redis refused", ledger, "TestAcceptRefused", "places: bought",
			mutant.Change{File: offers, From: `	if taken && lacking == nil {
		lacking, err = c.buy(row, op)`, To: `	if taken = true; taken {
		lacking, err = c.buy(row, op)`},
		),
		packageMutant("a unit is offered to the next, and on sale too", ledger, "TestOffersPassOn", "units are offered",
			mutant.Change{File: offers, From: `	units := int64(len(places)) - kept
`, To: `	units := int64(len(places)) + 0*kept
`},
		),
		packageMutant("the last who joined is served first", ledger, "TestReturnedUnitsAreOffered", "places:",
			mutant.Change{
				File: offers, From: `		Order("position").Limit(n).Find(&rows)`,
				To: `		Order("position DESC").Limit(n).Find(&rows)`,
			},
		),
		packageMutant("a rebuild sells offered units", recovery, "TestPlanOfARebuild$/offered_units", "Stock:",
			mutant.Change{
				File: "internal/order/recovery/rebuild.go", From: `Stock: max(0, v.Sale.Stock-promised)`,
				To: `Stock: max(0, v.Sale.Stock+v.Sale.Offered-promised)`,
			},
		),
		packageMutant("a rebuild takes an undecided acceptance for a lost order", ledger,
			"TestRebuildWithOffers", "snapshot",
			mutant.Change{File: "internal/sqlstore/places.go", From: `			snap.Dead[*row.OrderID] = true
`, To: ``},
		),
	}
}
