package waitlist_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"seckill/internal/feature/waitlist"
)

// rest does what brings a sale that was called off to rest, and returns the steps: the turns first ask again about
// acceptances that a rebuild has voided.
func (m *model) rest() (steps []string) {
	if !m.calledOff {
		return nil
	}
	for range 2 {
		m.turn()
		m.decideAll()
	}
	m.turn()
	m.unwind()
	return []string{"turn", "decide", "turn", "decide", "turn", "unwind"}
}

// atRest returns what must be so after rest.
func (m *model) atRest() error {
	if m.calledOff && (m.open || m.kept+m.accepted > 0 || len(m.live) > 0 || m.stock != m.issued) {
		return fmt.Errorf("called off and unwound: stock %d of %d, kept %d, accepted %d, live %v, open %t",
			m.stock, m.issued, m.kept, m.accepted, m.live, m.open)
	}
	return nil
}

// In 1,000 random histories no unit is lost, promised twice, or on sale while somebody waits for it.
func TestModel(t *testing.T) {
	t.Parallel()
	ends := map[waitlist.State]int{}
	for seed := range uint64(1000) {
		r, m := rand.New(rand.NewPCG(seed, 1)), newModel(4)
		var history []string
		for range 200 {
			waiting, stock := m.count(waitlist.Waiting, waitlist.Invited), m.stock
			history = append(history, m.step(r, 12))
			err := m.wrong()
			if err == nil && !m.over && waiting > 0 && m.stock > stock &&
				m.count(waitlist.Waiting, waitlist.Invited) > 0 {
				err = fmt.Errorf("%d units went on sale while %d wait", m.stock-stock, waiting)
			}
			if err != nil {
				t.Fatalf("seed %d: %v, after %v", seed, err, history)
			}
		}
		if m.rest(); m.wrong() != nil || m.atRest() != nil {
			t.Fatalf("seed %d: %v, %v, after %v", seed, m.wrong(), m.atRest(), history)
		}
		for _, p := range m.places {
			ends[p.state]++
		}
	}
	for s := waitlist.Bought; s <= waitlist.CalledOff; s++ {
		if s == waitlist.Refused { // for units that reach the public past the list: TestManyRefused
			continue
		}
		if ends[s] == 0 {
			t.Errorf("no place of a thousand histories ends as %s", s)
		}
	}
}
