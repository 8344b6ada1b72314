package test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/test/box"
)

// figures are a sale's live numbers, as its page reads them.
type figures struct {
	SaleState                     string
	Stock, Issued, Held, Recorded int64
}

// followFigures reads the live numbers of a sale repeatedly until each returns false, or for box.Patience.
func followFigures(ctx context.Context, s *box.Site, id int64, each func(figures) (more bool)) error {
	ctx, cancel := context.WithTimeout(ctx, box.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL(fmt.Sprintf("/admin/voucher/%d/live", id)), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", box.AdminToken())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // the stream is cut off
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, is := strings.CutPrefix(lines.Text(), "data: {\"at\"")
		if !is {
			continue
		}
		var f figures
		if err := json.Unmarshal([]byte(`{"at"`+data), &f); err != nil {
			return err
		}
		if !each(f) {
			return nil
		}
	}
	return fmt.Errorf("%s, and no more figures: %w", resp.Status, lines.Err())
}

// TestFiguresAgree checks, in each reading of a sale's numbers while users buy at two instances, that units left plus
// units held are the units issued, and that no more is recorded than is held.
func TestFiguresAgree(t *testing.T) {
	t.Parallel()
	const waves, perWave = 4, 100
	const units = waves * perWave
	s := box.RealSite(t, 2)
	id := s.CreateSale(t, units, time.Now().Add(time.Hour))
	b := s.Buyers(id)
	read := make(chan struct{}, 1) // signals a new reading
	var buying sync.WaitGroup
	buying.Go(func() {
		for wave := range int64(waves) {
			select { // so that readings come during and between purchases
			case <-read:
			case <-t.Context().Done():
			}
			b.BuyAll(t.Context(), 8, box.Users(1000*(wave+1), perWave))
		}
	})
	var last figures
	readings := 0
	box.Eventually(t, "the figures of the sale, until all is recorded", func() error {
		return followFigures(t.Context(), s, id, func(f figures) (more bool) {
			if f.Stock+f.Held != f.Issued || f.Recorded > f.Held || f.Issued != units || f.Held < last.Held {
				t.Errorf("reading %d says %+v, the one before %+v", readings, f, last)
			}
			last = f
			readings++
			select {
			case read <- struct{}{}:
			default:
			}
			return f.Recorded < units
		})
	})
	buying.Wait()
	t.Logf("%d readings", readings)
	if e := s.Check(t, b, units); e.Live() != units {
		t.Errorf("%d units are sold, want %d", e.Live(), units)
	}
}
