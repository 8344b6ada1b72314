package moment_test

import (
	"encoding/json"
	"testing"
	"time"

	"seckill/internal/kit/moment"
)

func TestTimesHaveMilliseconds(t *testing.T) {
	t.Parallel()
	china := time.FixedZone("", 8*60*60)
	for want, at := range map[string]time.Time{
		"2026-01-02T12:00:00.000Z": time.Date(2026, 1, 2, 20, 0, 0, 0, china),
		"2026-01-02T12:00:00.120Z": time.Date(2026, 1, 2, 12, 0, 0, 120_999_999, time.UTC),
	} {
		text, err := json.Marshal(moment.OrNil(at))
		if err != nil || string(text) != `"`+want+`"` || moment.Of(at).String() != want {
			t.Errorf("%v is %s, %s: %v, want %s", at, text, moment.Of(at), err, want)
		}
		var back moment.Time
		if err := json.Unmarshal(text, &back); err != nil || !back.Equal(at.Truncate(time.Millisecond)) {
			t.Errorf("%s is read as %v: %v", text, back, err)
		}
	}
	if moment.OrNil(time.Time{}) != nil {
		t.Error("the zero time is written")
	}
	if text, err := json.Marshal(moment.Of(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))); err == nil {
		t.Errorf("the year 10000 is %s", text)
	}
}
