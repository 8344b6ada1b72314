package main

import "seckill/lab/mutant"

// inChallenges are those of who gets a challenge.
func inChallenges() []mutant.Mutant {
	const (
		challenge = "./internal/feature/guard/challenge"
		pool      = "internal/feature/guard/challenge/pool.go"
		unsolved  = "internal/feature/guard/challenge/unsolved.go"
	)
	return []mutant.Mutant{
		packageMutant("each ask is another challenge", challenge, "TestAskingAgain$", "at once: false",
			mutant.Change{File: unsolved, From: `		return *g, true`, To: `		return *g, false`},
		),
		packageMutant("a challenge is given again once it is solved", challenge, "TestAskingAgain$", "that is solved",
			mutant.Change{File: unsolved, From: `g != nil && !g.solved &&`, To: `g != nil &&`},
		),
		packageMutant("a challenge is given again when it is over", challenge, "TestAskingAgain$", "nearly over: true",
			mutant.Change{File: unsolved, From: `g.expires >= now.Add(enoughTime).Unix()`, To: `g.expires != 0`},
		),
		packageMutant("a challenge is given again to another network", challenge, "TestAskingAgain$",
			"another network: true",
			mutant.Change{File: unsolved, From: `!g.solved && g.network == network &&`, To: `!g.solved &&`},
		),
		packageMutant("one network takes the whole reserve", challenge, "TestPoolIsBounded$", "one network took",
			mutant.Change{
				File: pool, From: `own < reserveScore*float64(p.stock)/float64(p.depth*p.most)`,
				To: `own < 1e9`,
			},
		),
		packageMutant("who waits is served as they came", challenge, "TestNetworksTakeTurns$", "was",
			mutant.Change{File: pool, From: `score < best {`, To: `first < 0 && best > score {`},
		),
		packageMutant("solving is worth nothing", challenge, "TestNetworksTakeTurns$", "was",
			mutant.Change{
				File: pool, From: `p.standing.add(network, -2, time.Now())`,
				To: `p.standing.add(network, 0, time.Now())`,
			},
		),
		packageMutant("those who wait keep all others out", challenge, "TestLessPatientNetworksYield$", "first comes",
			mutant.Change{
				File: pool, From: `if own >= p.standing.of(p.waiting[last].network, now) {`,
				To: `if own >= -100 {`,
			},
		),
	}
}
