package httpkit

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
)

// Users are kept for as long as they have streams.
func TestStreamsForgetUsers(t *testing.T) {
	t.Parallel()
	all := NewStreams(10, 2)
	noon := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	var open []*Stream
	for _, user := range []int64{1, 2, 1} {
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		c.Request = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		_, s, err := all.Open(c, Identity{UserID: user, Expires: noon.Add(time.Hour)}, nil, noon)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, s)
	}
	for i, want := range []map[int64]int{{1: 1, 2: 1}, {1: 1}, {}} {
		all.Close(open[i])
		if diff := cmp.Diff(want, all.byUser); diff != "" || all.Count() != 2-i {
			t.Errorf("after %d: %s", i, diff)
		}
	}
}
