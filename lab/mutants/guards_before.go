package main

import "seckill/lab/mutant"

// beforeGuards are those of what stands before guards: who calls, from where, and over which connection.
func beforeGuards() []mutant.Mutant {
	const (
		api, guard, lines, peers = "./internal/httpapi", "./internal/feature/guard", "./internal/kit/connlimit",
			"./internal/kit/clientip"
		clientip, idle = "internal/kit/clientip/clientip.go", "internal/kit/connlimit/idle.go"
		crowd          = "internal/kit/connlimit/crowd.go"
		budget         = "internal/feature/guard/budget/budget.go"
	)
	return []mutant.Mutant{
		packageMutant("an address with a port is no address", peers, "TestAddresses$/with_a_port", "invalid IP",
			mutant.Change{
				File: clientip, From: `netip.ParseAddrPort(entry); err == nil {`,
				To: `netip.ParseAddrPort(entry); err == nil && false {`,
			},
		),
		packageMutant("of several lines of X-Forwarded-For the first counts", peers, "TestAddresses$/made_up_in_a_line",
			"198.51.100.1", mutant.Change{
				File: clientip, From: `slices.Backward(r.Header[header])`,
				To: `slices.All(r.Header[header])`,
			},
		),
		packageMutant("who cannot be read is the proxy", peers, "TestAddresses$/a_word$", "10.0.0.7",
			mutant.Change{File: clientip, From: `			if caller = parse(entry); !a.IsProxy(caller) {
				return caller
			}`, To: `			if read := parse(entry); read.IsValid() && !a.IsProxy(read) {
				return read
			}`},
		),
		packageMutant("who cannot be read has no budget", guard, "TestLimitsBehindProxies$", "202",
			mutant.Change{File: budget, From: `		return t.checkUnreadable(l, saleID)
`, To: `		return nil
`},
		),
		packageMutant("who cannot be read has an address's whole budget", guard, "TestLimitsBehindProxies$", "202",
			mutant.Change{File: budget, From: `smaller(*r, unreadable())`, To: `r`},
		),
		packageMutant("a user who asks all the time spends their address's budget", guard+"/budget",
			"TestAUsersLimitComesFirst$", "a neighbour", mutant.Change{
				File: budget,
				From: `	if err := t.check(l.PerUser, OfUser, saleID, account, uint64(userID)); err != nil {
		return err
	}
	if !a.IsValid() {`, To: `	user := t.check(l.PerUser, OfUser, saleID, account, uint64(userID))
	defer func() { _ = user }()
	if !a.IsValid() {`,
			},
		),
		packageMutant("strangers spend the limits of a sale", "./internal/httpapi/shop", "TestGatekeeper$/a_stranger",
			"-want",
			mutant.Change{File: "internal/httpapi/route.go", From: `	if !r.Uncounted {
		permit, ok`, To: `	if err := a.checkLimits(r, c, who); err != nil {
		return who, httpkit.Answer{}, err
	}
	if !r.Uncounted {
		permit, ok`},
		),
		packageMutant("strangers take permits for ever", api, "TestStrangersTakeNoPermits$", "want 401",
			mutant.Change{
				File: "internal/httpapi/route.go", From: `r.Access != httpkit.ForAll && a.comesWithBadTokens(c, now)`,
				To: `false`,
			},
		),
		packageMutant("a bad token of one address is everybody's", api, "TestStrangersTakeNoPermits$", "198.51.100.7",
			mutant.Change{
				File: "internal/httpapi/failed_tokens.go", From: `return !f.budgets.has(clientip.Line(from), now)`,
				To: `return true`,
			},
		),
		packageMutant("a moment's idleness closes a connection", lines, "TestIdleConnectionsYield$",
			"idle for a moment",
			mutant.Change{File: idle, From: `now.UnixNano()-since >= int64(IdleFor)`, To: `true`},
		),
		packageMutant("idle connections are closed whoever has them", lines, "TestThePeerThatHoldsMostYieldsFirst$",
			"the only connection", mutant.Change{
				File: idle, From: `return b.open - a.open`,
				To: `return a.open - b.open`,
			},
		),
		packageMutant("a peer that connects again and again keeps others out", lines, "TestACrowdingPeerGetsHalf$",
			"a buyer: 503", mutant.Change{
				File: crowd, From: `if !s.peer.IsValid() || s.peer == newcomer ||`,
				To: `if s.peer.IsValid() || s.peer == newcomer ||`,
			},
		),
		packageMutant("a peer that was dispersed comes back", lines, "TestACrowdingPeerGetsHalf$", "open, ",
			mutant.Change{File: crowd, From: `s.until = l.now().Add(crowdedFor)`, To: `_ = crowdedFor`},
		),
		packageMutant("a crowding peer is kept out for ever", lines, "TestACrowdingPeerGetsHalf$", "open, ",
			mutant.Change{File: crowd, From: `!l.now().Before(s.until)`, To: `s.until.IsZero()`},
		),
		packageMutant("proxies are dispersed", lines, "TestProxiesKeepIdleConnections$", "want the refusal",
			mutant.Change{File: crowd, From: `s.peer == newcomer || l.exempt(s.peer)`, To: `s.peer == newcomer`},
		),
		packageMutant("idle connections of proxies are closed", lines, "TestProxiesKeepIdleConnections$",
			"want the refusal",
			mutant.Change{File: idle, From: `		if c.exempt {
			continue
		}
`, To: ``},
		),
		packageMutant("leaving tells a hidden voucher from none", "./internal/feature/waitlist",
			"TestLeavingTellsNoHiddenVoucher$", "NOT_SECKILL",
			mutant.Change{
				File: "internal/feature/waitlist/routes.go", From: `errors.Is(err, voucher.ErrNotSeckill) || errors`,
				To: `errors`,
			},
		),
		packageMutant("pages of other sites make buyers", api, "TestDemoBuyerForOwnPages$/another_site", "201",
			mutant.Change{File: "internal/httpapi/demo.go", From: `a.origins.Check(r) == nil`, To: `r != nil`},
		),
		packageMutant("buyers are made by any name", api, "TestDemoBuyerForOwnPages$/a_foreign_name", "201",
			mutant.Change{
				File: "internal/httpapi/demo.go", From: `isKnownHost(r.Host, a.cfg.OperationsHosts) &&`,
				To: `true &&`,
			},
		),
	}
}
