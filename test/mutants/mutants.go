package main

import "seckill/test/overlay"

// mutant is one bug, and who should notice it.
type mutant struct {
	name     string
	scenario string
	sign     string // what the scenario's failure says
	changes  []overlay.Change
}

// mutants returns all bugs.
func mutants() []mutant {
	return append(inAdmission(), inRecording()...)
}

// inAdmission are those on the way to the buyer's answer.
func inAdmission() []mutant {
	const script, gate = "scripts/seckill.lua", "internal/redisstore/gate.go"
	return []mutant{
		{"stock lowered in a step of its own", "F01", "I3 accepted means settled", []overlay.Change{
			{File: script, From: `'stock', string.format('%.0f', stock), 'seq'`, To: `'seq'`},
			{File: gate, From: `	return verdict, err
}`, To: `	admitted := 0
	for _, outcome := range verdict.Outcomes {
		if outcome.Code == order.Accepted {
			admitted++
		}
	}
	if admitted > 0 {
		err = s.commands.HSet(ctx, keys[0], "stock", verdict.View.Stock).Err()
	}
	return verdict, err
}`},
		}},
		{"MAXLEN in admission", "F13", "it was rebuilt, and Redis had lost nothing", []overlay.Change{
			{File: script, From: `call('XADD', orders_key, '*'`, To: `call('XADD', orders_key, 'MAXLEN', 100, '*'`},
		}},
		{"already bought, without the order's id", "F02", "want 400 that name the order", []overlay.Change{
			{File: "internal/httpapi/errors_table.go", From: `		members: alreadyBoughtMembers,
`, To: ``},
		}},
		{"already bought, with another id", "F02", "I6 the winner is told so, sold out is true", []overlay.Change{
			{File: script, From: `outcomes[i] = place
`, To: `outcomes[i] = order
`},
		}},
		{"a place is not looked for", "F02", "want 400 that name the order", []overlay.Change{
			{File: script, From: `local place = place_of[user] or held[i]`, To: `local place = place_of[user]`},
		}},
		{"an answer that was lost is called a refusal", "F03", "the record is", []overlay.Change{
			{
				File: "internal/order/line.go", From: `fmt.Errorf("%w: %w; repeated: %w", ErrUnknownOutcome, err, unmarked{errAgain})`,
				To: `fmt.Errorf("%w: %w; repeated: %w", ErrUnavailable, err, unmarked{errAgain})`,
			},
		}},
	}
}

// inRecording are those between the stream and the ledger.
func inRecording() []mutant {
	const record, fetcher = "internal/sqlstore/record.go", "internal/order/recorder_fetcher.go"
	return []mutant{
		{"acknowledged before the commit", "F06", "it was rebuilt, and Redis had lost nothing", []overlay.Change{
			{File: fetcher, From: `	f.last = newBatch(entries)
`, To: `	keys := make([]string, len(entries))
	for i, e := range entries {
		keys[i] = e.Key
	}
	if _, err := f.queue.Settle(ctx, keys); err != nil {
		return nil, err
	}
	f.last = newBatch(entries)
`},
		}},
		{"acknowledged on another stream", "F01", "entries wait in Redis", []overlay.Change{
			{File: "scripts/settle.lua", From: `redis.call('XACK', KEYS[1], ARGV[1]`, To: `redis.call('XACK', KEYS[1] .. ':other', ARGV[1]`},
		}},
		{"one consumer's name for all", "F06", "not settled", []overlay.Change{
			{File: "cmd/server/shop.go", From: `redis.Consumer(partition, self)`, To: `redis.Consumer(partition, "recorder:"+uuid.Nil.String())`},
		}},
		{"nobody takes over from the dead", "F07", "not settled", []overlay.Change{
			{File: fetcher, From: `return f.queue.Orphans(ctx, f.options.Batch)`, To: `return nil, nil`},
		}},
		{"stranded entries stay where they are", "F28-dead", "entries wait in Redis", []overlay.Change{
			{File: "scripts/orphans.lua", From: `  take_stranded()
`, To: ``},
		}},
		{"stranded entries are cut off", "F28-dead", "it was rebuilt, and Redis had lost nothing", []overlay.Change{
			{File: "scripts/settle.lua", From: `first[1] ~= ARGV[2]`, To: `false`},
		}},
		{"rows that are there are passed over", "F08", "I5 conservation", []overlay.Change{
			{File: record, From: `"INSERT INTO tb_voucher_order (`, To: `"INSERT IGNORE INTO tb_voucher_order (`},
		}},
		{"committed after a lock wait", "F15-wait", "conservation", []overlay.Change{
			{File: record, From: `	case result.Error != nil:
`, To: `	case isContended(result.Error):
		return nil
	case result.Error != nil:
`},
		}},
		{"no unique key", "F18", "I2 one per user", []overlay.Change{
			{File: "migrations/mysql/00001_ledger.sql", From: `    UNIQUE KEY uk_order_live (`, To: `    KEY uk_order_live (`},
		}},
		{"an order id that is taken is passed over", "F19", "I5 conservation", []overlay.Change{
			{File: "internal/order/settlement.go", From: `		return s.collided(c, row)`, To: `		return Decision{Claim: c, Verb: Keep, RowID: row.ID}, nil`},
		}},
		{"a unit comes back twice", "F19", "it was rebuilt, and Redis had lost nothing", []overlay.Change{
			{File: "scripts/correct.lua", From: `      units = units + 1`, To: `      units = units + 2`},
		}},
		{"a deadlock counts against the order", "F15-deadlock", "I3 accepted means settled", []overlay.Change{
			{File: "internal/sqlstore/errors.go", From: `		case 1048, // a column`, To: `		case 1213, 1048, // a column`},
		}},
	}
}
