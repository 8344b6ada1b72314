package draw_test

import (
	"encoding/json"
	"slices"
	"testing"

	"seckill/internal/feature/guard/draw"
	"seckill/internal/testkit/drawtest"
)

// TestTamperedLists checks lists that were tampered with. Each is found, on the line that is said; those that a shop
// could hide from a reader without an earlier answer are found with one.
func TestTamperedLists(t *testing.T) {
	t.Parallel()
	if wrong := draw.Check(drawtest.Fair(), drawtest.Fair()); len(wrong) > 0 {
		t.Fatalf("nothing is wrong, and %v is found", wrong)
	}
	for name, c := range drawtest.Lists() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := c.List()
			alone, compared := draw.Check(l, nil), draw.Check(l, drawtest.Fair())
			if c.Line == drawtest.Saved {
				if len(alone) > 0 || len(compared) == 0 {
					t.Errorf("alone %v is found, with an earlier answer %v", alone, compared)
				}
				return
			}
			if !slices.ContainsFunc(alone, func(w draw.Wrong) bool { return w.Line == c.Line }) {
				t.Errorf("line %d is wrong, and %v is found", c.Line, alone)
			}
		})
	}
}

// A sale that was called off may be over before its draw was closed, or had its beacon: nothing is wrong with that, as
// long as nobody bought.
func TestListsThatWereNeverDecided(t *testing.T) {
	t.Parallel()
	for name, l := range drawtest.CalledOff() {
		if wrong := draw.Check(l, nil); len(wrong) > 0 || l.Decided() {
			t.Errorf("%s: %v", name, wrong)
		}
		for what, bought := range drawtest.Bought(l) {
			if len(draw.Check(bought, nil)) == 0 {
				t.Errorf("%s, and bought (%s): nothing is found", name, what)
			}
		}
	}
}

// An earlier answer may be from any time before: what was not yet known then is not compared.
func TestEarlierAnswers(t *testing.T) {
	t.Parallel()
	open := drawtest.Fair()
	open.State, open.Root, open.Entries, open.Beacon, open.Key, open.Entrants = draw.Open, "", nil, "", "", nil
	if wrong := draw.Check(drawtest.Fair(), open); len(wrong) > 0 {
		t.Errorf("%v", wrong)
	}
	text, err := json.Marshal(drawtest.Fair())
	if err != nil {
		t.Fatal(err)
	}
	var read draw.List
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if wrong := draw.Check(&read, drawtest.Fair()); len(wrong) > 0 {
		t.Errorf("read back: %v", wrong)
	}
}

// One's own line is found by the entry alone; an entry of another draw, or one that was left out, is said.
func TestOwnLine(t *testing.T) {
	t.Parallel()
	l := drawtest.Fair()
	line, err := draw.Own(l, drawtest.Own)
	if err != nil || l.Entrants[line-1].Hash != draw.EntryHash(drawtest.Own).String() {
		t.Errorf("line %d, %v", line, err)
	}
	for _, text := range []string{"", "5-1-0000000000000003", "6-2-0000000000000003", "5-2-00000000000000ff"} {
		if line, err := draw.Own(l, text); err == nil {
			t.Errorf("%q is found on line %d", text, line)
		}
	}
}
