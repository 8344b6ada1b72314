package linear_test

import (
	"testing"
	"time"

	"seckill/internal/checker"
	"seckill/lab/linear"
)

// during is a step whose request was under way from one millisecond to another.
func during(sent, received int, s linear.Step) linear.Step {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	s.Sent, s.Received = noon.Add(time.Duration(sent)*time.Millisecond),
		noon.Add(time.Duration(received)*time.Millisecond)
	return s
}

func buys(user, order int64) linear.Step {
	return linear.Step{Verb: linear.Buys, User: user, Outcome: checker.Accepted, Order: order}
}

func buysNothing(user int64) linear.Step {
	return linear.Step{Verb: linear.Buys, User: user, Outcome: checker.Refused}
}

// firstCancels: user 1 gives their unit back.
func firstCancels() linear.Step {
	return linear.Step{Verb: linear.Cancels, User: 1, Outcome: checker.Accepted}
}

func joins(user, position int64) linear.Step {
	return linear.Step{Verb: linear.Joins, User: user, Outcome: checker.Accepted, Place: "waiting", Position: position}
}

func joinsNothing(user int64) linear.Step {
	return linear.Step{Verb: linear.Joins, User: user, Outcome: checker.Refused}
}

func accepts(user, order int64) linear.Step {
	return linear.Step{Verb: linear.Accepts, User: user, Outcome: checker.Accepted, Order: order}
}

// secondMisses returns the step in which the window of user 2 passes.
func secondMisses() linear.Step {
	return linear.Step{Verb: linear.Misses, User: 2, Outcome: checker.Accepted}
}

func leaves(user int64) linear.Step {
	return linear.Step{Verb: linear.Leaves, User: user, Outcome: checker.Accepted, Place: "declined"}
}

// secondSees returns the step in which user 2 looks at their place.
func secondSees(place string) linear.Step {
	return linear.Step{Verb: linear.Looks, User: 2, Outcome: checker.Accepted, Place: place}
}

// inTurn gives each step a time after the one before.
func inTurn(steps ...linear.Step) []linear.Step {
	for i := range steps {
		steps[i] = during(2*i, 2*i+1, steps[i])
	}
	return steps
}

// TestCheckList: one unit.
func TestCheckList(t *testing.T) {
	t.Parallel()
	type places = map[int64]string
	type live = map[int64]int64
	for name, tt := range map[string]struct {
		steps []linear.Step
		end   linear.End
		want  linear.Verdict
	}{
		"invited and accepted": {
			inTurn(buys(1, 11), joins(2, 1), secondSees("waiting"), firstCancels(), secondSees("invited"),
				buysNothing(3), accepts(2, 12)),
			linear.End{Live: live{2: 12}, Places: places{2: "bought"}},
			linear.Yes,
		},
		"accepted without a place": {
			inTurn(buys(1, 11), firstCancels(),
				accepts(2, 12)), linear.End{Live: live{2: 12}, Places: places{2: "bought"}}, linear.No,
		},
		"accepted before it was invited": {
			inTurn(buys(1, 11), joins(2, 1), accepts(2, 12),
				firstCancels()), linear.End{Live: live{2: 12}, Places: places{2: "bought"}}, linear.No,
		},
		"a kept unit is sold": {
			inTurn(buys(1, 11), joins(2, 1), firstCancels(),
				buys(3, 13)), linear.End{Live: live{3: 13}, Places: places{2: "invited"}}, linear.No,
		},
		"a kept unit is sold, and accepted": {
			inTurn(buys(1, 11), joins(2, 1), firstCancels(), buys(3, 13), accepts(2, 12)),
			linear.End{Live: live{3: 13, 2: 12}, Places: places{2: "bought"}},
			linear.No,
		},
		"the second is served first": {
			inTurn(buys(1, 11), joins(2, 1), joins(3, 2), firstCancels(), accepts(3, 13)),
			linear.End{Live: live{3: 13}, Places: places{2: "waiting", 3: "bought"}},
			linear.No,
		},
		"who joined later is before": {
			inTurn(buys(1, 11), joins(2, 5),
				joins(3, 4)), linear.End{Live: live{1: 11}, Places: places{2: "waiting", 3: "waiting"}}, linear.No,
		},
		"missed, declined, passed on, and sold once nobody waits": {
			inTurn(buys(1, 11), joins(2, 1), joins(3, 2), firstCancels(), secondMisses(), leaves(3),
				secondSees("invited"), secondMisses(), buys(6, 16)),
			linear.End{Live: live{6: 16}, Places: places{2: "missed", 3: "declined"}},
			linear.Yes,
		},
		"sold while somebody waits": {
			inTurn(buys(1, 11), joins(2, 1), joins(3, 2), firstCancels(), leaves(2), buys(6, 16)),
			linear.End{Live: live{6: 16}, Places: places{2: "declined", 3: "waiting"}},
			linear.No,
		},
		"invited a third time": {
			inTurn(buys(1, 11), joins(2, 1), joins(3, 2), firstCancels(), secondMisses(), leaves(3), secondMisses(),
				accepts(2, 12)),
			linear.End{Live: live{2: 12}, Places: places{2: "bought", 3: "declined"}},
			linear.No,
		},
		"a place that has missed comes before one that has not": {
			inTurn(buys(1, 11), joins(2, 1), joins(3, 2), firstCancels(), secondMisses(), secondSees("invited")),
			linear.End{Places: places{2: "invited", 3: "waiting"}},
			linear.No,
		},
		"a missed invitation is accepted": {
			inTurn(buys(1, 11), joins(2, 1), joins(3, 2), firstCancels(), secondMisses(),
				accepts(2, 12)), linear.End{Live: live{2: 12}, Places: places{2: "bought", 3: "waiting"}}, linear.No,
		},
		"accepted while it is missed": {
			[]linear.Step{
				during(0, 1, buys(1, 11)), during(2, 3, joins(2, 1)), during(4, 5, firstCancels()),
				during(6, 9, secondMisses()), during(7, 8, accepts(2, 12)),
			}, linear.End{Live: live{2: 12}, Places: places{2: "bought"}}, linear.Yes,
		},
		"refused for a unit that will be on sale": {
			inTurn(buys(1, 11), firstCancels(), joinsNothing(2), buysNothing(3), joinsNothing(2),
				buys(3, 13)), linear.End{Live: live{3: 13}}, linear.Yes,
		},
		"refused for a unit that is sold": {
			inTurn(buys(1, 11), joinsNothing(2)), linear.End{Live: live{1: 11}}, linear.No,
		},
		"refused for a unit that is kept": {
			inTurn(buys(1, 11), joins(2, 1), firstCancels(),
				joinsNothing(3)), linear.End{Places: places{2: "invited"}}, linear.No,
		},
		"a unit is gone": {
			inTurn(buys(1, 11), joins(2, 1), firstCancels(),
				secondMisses(), secondMisses()), linear.End{Places: places{2: "missed"}}, linear.No,
		},
		"an accept without an answer": {
			inTurn(buys(1, 11), joins(2, 1), firstCancels(), linear.Step{Verb: linear.Accepts, User: 2}),
			linear.End{Live: live{2: 12}, Places: places{2: "bought"}},
			linear.Yes,
		},
	} {
		if got := linear.CheckList(1, tt.steps, tt.end, patience); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
