package main

import "seckill/lab/mutant"

// inRecovery returns the mutants of noticing and repairing what is wrong in Redis.
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
				File: "internal/order/recovery/plan.go",
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
			"not all sales are repaired after",
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
				File: "internal/order/recovery/reconciler.go", From: `		r.stores.Suspect(sale) //`,
				To: `		_ = sale //`,
			},
			mutant.Change{
				File: "internal/order/audit/pass.go", From: `p.checked && p.busy >= passTime`,
				To: `p.checked && p.busy >= 0`,
			},
		),
	}
}

// inFailovers returns the mutants that matter when another server replaces a master.
func inFailovers() []mutant.Mutant {
	return []mutant.Mutant{
		serverMutant("no reload of the slot map on dial errors", "F43-dead", " within ",
			mutant.Change{File: "internal/redisstore/rediskit/clients.go", From: `	watchSlotMap(client)
`, To: ``},
		),
		serverMutant("an order is told that no replica has", "F44-split", "were told on the old side",
			mutant.Change{File: "internal/redisstore/replicas.go", From: `got < int64(c.wanted)`, To: `got < 0`},
		),
		serverMutant("an epoch for each try to stop the sale", "F43-slot", "want 2 at most",
			mutant.Change{
				File: "internal/order/recovery/rebuild.go", From: `	err := r.stores.Builder.Begin(ctx, sale, 0)
`, To: `	err := order.ErrSuperseded
`,
			},
		),
	}
}
