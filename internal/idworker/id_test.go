package idworker

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestIDIsSecondAndNumber(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := newPermutation(key(t))
		second := rapid.Int64Range(1, maxSecond).Draw(t, "second")
		number := rapid.Int64Range(1, MaxNumber).Draw(t, "number")
		id := p.id(second, number)
		if id <= 0 {
			t.Fatalf("id %d is not positive", id)
		}
		if got := Time(id).Unix(); got != epoch+second {
			t.Fatalf("Time is %d s after the epoch, want %d", got-epoch, second)
		}
		if got := p.number(id); got != number {
			t.Fatalf("number is %d, want %d", got, number)
		}
		if from, to := idsOf(dayOf(second)); id < from || id >= to && to != math.MaxInt64 {
			t.Fatalf("id %d is not in its day's range [%d, %d)", id, from, to)
		}
		if day := dayOf(second); day < dayOf(maxSecond) {
			if from, _ := idsOf(day + 1); id >= from {
				t.Fatalf("id %d is in the next day's range, from %d", id, from)
			}
		}
		if later := p.id(min(second+1, maxSecond), 1); second < maxSecond && later <= id {
			t.Fatalf("an id of the next second, %d, is not above %d", later, id)
		}
	})
}

func TestSecondOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at   string
		want int64 // 0: ErrClock
	}{
		"zero time":         {at: "0001-01-01T00:00:00Z"},
		"before the epoch":  {at: "2021-12-31T23:59:59Z"},
		"the epoch":         {at: "2022-01-01T00:00:00Z"},
		"first second":      {at: "2022-01-01T00:00:01.5Z", want: 1},
		"other time zone":   {at: "2022-01-01T08:00:01+08:00", want: 1},
		"day":               {at: "2026-03-01T00:00:00Z", want: (4*365 + 1 + 59) * secondsPerDay},
		"last second":       {at: "2090-01-19T03:14:07Z", want: maxSecond},
		"after the 31 bits": {at: "2090-01-19T03:14:08Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, err := time.Parse(time.RFC3339Nano, c.at)
			if err != nil {
				t.Fatal(err)
			}
			got, err := secondOf(at)
			if got != c.want || errors.Is(err, ErrClock) != (c.want == 0) {
				t.Errorf("secondOf(%s) = %d, %v; want %d", c.at, got, err, c.want)
			}
		})
	}
}

func TestDayName(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		second := rapid.Int64Range(1, maxSecond).Draw(t, "second")
		if got, want := dayName(dayOf(second)), time.Unix(epoch+second, 0).UTC().Format("2006:01:02"); got != want {
			t.Fatalf("the day of second %d is %s, want %s", second, got, want)
		}
	})
}

// key draws a key.
func key(t *rapid.T) [16]byte {
	return [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "key"))
}
