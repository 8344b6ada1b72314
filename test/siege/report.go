package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"seckill/internal/guard"
)

const firstSeed = 20261111

// report runs everything and writes the report.
func report(ctx context.Context, seeds int) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, head, people, units, instances, people, 100*waitingShare, reaction, lateness, mobile, 100*lostShare,
		100*sharedShare, sharedLines, telephone, line, core, retries, firstSeed)
	for _, part := range []func(context.Context, *strings.Builder) error{
		byKind, byDelay,
		func(ctx context.Context, b *strings.Builder) error { return goal(ctx, b, seeds) },
		solvers,
	} {
		if err := part(ctx, &b); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

const head = `# Bots besiege a sale

Written by ` + "`make siege`" + `: a **model** of the [guards](guards.md). %d people and bots want %d units on %d instances; time is simulated, and work is
charged, not burnt. ` + "`test/siege/doc.go`" + ` says what is real (tickets, moments, difficulty) and what
is assumed:

- %d people, %.0f in 100 of them press before their moment (without tickets: %v after the start, median); the others press %v
  after the start (median). A telephone's message takes %v (median), %.0f in 100 are lost and sent again. %.0f in 100
  share %d addresses.
- A telephone makes %.0f tries of a challenge in a second (Chromium throttled six times); a bot's message takes %v, each of its cores
  makes %.0f tries a second, and each account asks up to %d times again.
- The seed of the first tables is %d.

`

// guarded returns settings.
func guarded(set ...func(*guard.Settings)) guard.Settings {
	var s guard.Settings
	for _, apply := range set {
		apply(&s)
	}
	return s
}

// all turns every guard on, with the delay that the console proposes for the crowd.
func all(k kind) guard.Settings {
	s := guarded(limits, conditions, tickets, work)
	s.Tickets.DelayMs = proposed(k).Milliseconds()
	return s
}

func proposed(k kind) time.Duration { return guard.ProposeDelay(int64(people+k.accounts), units) }

// byKind besieges the sale with each kind of bots.
func byKind(ctx context.Context, b *strings.Builder) error {
	b.WriteString("## Each kind of bots\n\n| Bots | Guards | units to bots | to people | sold in | refusals | bots' processor time | honest called an attack |\n" +
		"| --- | --- | ---: | ---: | ---: | --- | ---: | ---: |\n")
	for _, k := range kinds() {
		for _, g := range []struct {
			name string
			set  guard.Settings
		}{{"none", guard.Settings{}}, {k.meantName, guarded(k.meant)}, {fmt.Sprintf("all, D = %v", proposed(k)), all(k)}} {
			r, err := besieged(ctx, firstSeed, k, g.set)
			if err != nil {
				return err
			}
			fmt.Fprintf(b, "| %s | %s | %d | %d | %s | %s | %.1f s | %d of %d |\n",
				k.what, g.name, r.toBots, r.toPeople, sold(r), refused(r.refusals), r.coreSeconds, r.honestCalledAttack, people)
		}
	}
	b.WriteString("\n")
	return nil
}

func sold(r result) string {
	if r.seconds < 0 {
		return "not all"
	}
	return fmt.Sprintf("%.2f s", r.seconds)
}

func refused(all map[string]int) string {
	var words []string
	for _, code := range slices.Sorted(maps.Keys(all)) {
		words = append(words, "`"+code+"` "+strconv.Itoa(all[code]))
	}
	return strings.Join(words, ", ")
}

// byDelay shows what the longest delay does.
func byDelay(ctx context.Context, b *strings.Builder) error {
	k := kinds()[2]
	fmt.Fprintf(b, "## What the delay does\n\n%s, tickets alone. Of a hundred accounts so many win:\n\n", capital(k.what))
	b.WriteString("| D | a bot's | of people who pressed before their moment | of people who pressed after it | bots gain | the formula says | sold in |\n" +
		"| ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, d := range []time.Duration{0, 1500 * time.Millisecond, 5 * time.Second, 15 * time.Second, time.Minute} {
		set := guarded(tickets)
		set.Tickets.DelayMs = d.Milliseconds()
		var bot, waiting, late, seconds float64
		const runs = 10
		for seed := range uint64(runs) {
			r, err := besieged(ctx, firstSeed+seed, k, set)
			if err != nil {
				return err
			}
			bot, waiting, late, seconds = bot+r.botRate()/runs, waiting+r.waitingRate()/runs, late+r.lateRate()/runs, seconds+r.seconds/runs
		}
		formula := "–"
		if d > 0 {
			formula = fmt.Sprintf("%+.0f %%", 100*guard.Gain(mobile+clockDoubt, int64(people*waitingShare)+int64(k.accounts), units, d))
		}
		fmt.Fprintf(b, "| %v | %.1f | %.1f | %.1f | %s | %s | %.2f s |\n", d, bot, waiting, late, gain(bot, waiting), formula, seconds)
	}
	b.WriteString("\n")
	return nil
}

func gain(bot, waiting float64) string {
	if waiting == 0 {
		return "everything"
	}
	return fmt.Sprintf("%+.0f %%", 100*(bot/waiting-1))
}

// outcome is the goal, measured with many seeds.
type outcome struct {
	bot, waiting, difference, deviation float64
	attacked                            int
}

// reached reports whether a bot's account wins no more than that of a person who pressed before, within two standard deviations.
func (o outcome) reached() bool { return o.difference <= 2*o.deviation && o.attacked == 0 }

func measure(ctx context.Context, k kind, set guard.Settings, seeds int) (outcome, error) {
	var o outcome
	differences := make([]float64, seeds)
	for i := range differences {
		r, err := besieged(ctx, firstSeed+uint64(i), k, set)
		if err != nil {
			return o, err
		}
		differences[i] = r.botRate() - r.waitingRate()
		o.bot += r.botRate() / float64(seeds)
		o.waiting += r.waitingRate() / float64(seeds)
		o.difference += differences[i] / float64(seeds)
		o.attacked += r.honestCalledAttack
	}
	for _, d := range differences {
		o.deviation += (d - o.difference) * (d - o.difference) / float64(max(1, seeds-1))
	}
	o.deviation = math.Sqrt(o.deviation)
	return o, nil
}

// goal measures it for each kind.
func goal(ctx context.Context, b *strings.Builder, seeds int) error {
	fmt.Fprintf(b, "## The goal\n\nWith all guards and the D that guard.ProposeDelay proposes, a bot's account wins no more than that of a person who pressed before\n"+
		"their moment, within two standard deviations over %d seeds, and no honest buyer is called an attack.\n"+
		"The deviation is that of one sale; a difference of a twentieth, which the proposal tolerates, is smaller than it and real all the same.\n\n", seeds)
	b.WriteString("| Bots | D | a bot's | a person's, of a hundred | difference | standard deviation | honest called an attack | reached |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n")
	for _, k := range kinds() {
		o, err := measure(ctx, k, all(k), seeds)
		if err != nil {
			return err
		}
		verdict := "yes"
		if !o.reached() {
			verdict = "**no**"
		}
		fmt.Fprintf(b, "| %s | %v | %.2f | %.2f | %+.2f | %.2f | %d | %s |\n", k.name, proposed(k), o.bot, o.waiting, o.difference, o.deviation, o.attacked, verdict)
	}
	b.WriteString("\n")
	return nil
}

// solvers has some actors really solve their challenges.
func solvers(ctx context.Context, b *strings.Builder) error {
	const actors = 50
	tries, took, err := reallySolve(ctx, actors)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "## Who really solves\n\n%d actors solved their challenges: %d tries, %.2f ms each on one core of this machine, each within the tries\n"+
		"that are charged; another instance accepted every solution.\n", actors, tries, float64(took.Microseconds())/float64(tries)/1000)
	return nil
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
